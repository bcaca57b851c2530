#include "server/control/caller.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/posix/user_database.h"

namespace canopy::control {
namespace {

bool IsMember(const UserEntry& user, const std::string& group_name) {
  if (group_name.empty()) return false;
  const std::optional<gid_t> wanted = FindGroup(group_name);
  return wanted &&
         std::ranges::count(GroupsOf(user.name, user.gid), *wanted) > 0;
}

}  // namespace

Caller OwnUser() { return {geteuid(), getegid(), "", true, true}; }

Result<Caller> FindUser(const std::string& name, const std::string& operators) {
  const std::optional<UserEntry> user = FindUserByName(name);
  if (!user) {
    return Status(kErrNoPermissions,
                  "there is no user '" + name + "' on this node");
  }
  Caller caller = {user->uid, user->gid, user->name};
  caller.owns_agents = caller.uid == 0 || caller.uid == geteuid();
  caller.is_operator = caller.owns_agents || IsMember(*user, operators);
  return caller;
}

Result<std::string> NameOfUser(uint32_t uid) {
  std::optional<UserEntry> user = FindUserByNumber(uid);
  if (user) return std::move(user->name);
  return Status(kErrNoPermissions,
                "user " + std::to_string(uid) + " has no name on this node");
}

}  // namespace canopy::control
