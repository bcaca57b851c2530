// The system's database of users and groups. All functions may block on it. Any
// thread.
#ifndef CANOPY_COMMON_POSIX_USER_DATABASE_H_
#define CANOPY_COMMON_POSIX_USER_DATABASE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace canopy {

struct UserEntry {
  uid_t uid = 0;
  gid_t gid = 0;  // of a login
  std::string name;
};

// Return the user, or no value if the database has none.
std::optional<UserEntry> FindUserByName(const std::string& name);
std::optional<UserEntry> FindUserByNumber(uid_t uid);

// Returns the number of a group, or no value if there is none of this name.
std::optional<gid_t> FindGroup(const std::string& name);

// Returns the groups of a login of the user with this group.
std::vector<gid_t> GroupsOf(const std::string& user, gid_t gid);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_USER_DATABASE_H_
