#include "server/control/caller.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

namespace canopy::control {
namespace {

constexpr size_t kFirstBuffer = 1024;
constexpr size_t kMaxBuffer = 1 << 20;  // a group may have thousands of members

// Calls a function such as getpwnam_r with larger and larger buffers. `take`
// gets the entry while the buffer lives. Returns false if there is no entry.
template <typename Entry, typename Find, typename Take>
bool Look(Find find, Take take) {
  for (size_t size = kFirstBuffer; size <= kMaxBuffer; size *= 2) {
    std::vector<char> buffer(size);
    Entry entry;
    Entry* found = nullptr;
    const int error = find(&entry, buffer.data(), size, &found);
    if (error == ERANGE) continue;
    if (error != 0 || found == nullptr) return false;
    take(*found);
    return true;
  }
  return false;
}

std::optional<gid_t> GroupOf(const std::string& name) {
  gid_t gid = 0;
  const bool found = Look<group>(
      [&](group* entry, char* buffer, size_t size, group** out) {
        return getgrnam_r(name.c_str(), entry, buffer, size, out);
      },
      [&](const group& entry) { gid = entry.gr_gid; });
  return found ? std::optional<gid_t>(gid) : std::nullopt;
}

bool IsMember(const Caller& user, const std::string& group_name) {
  if (group_name.empty()) return false;
  const std::optional<gid_t> wanted = GroupOf(group_name);
  if (!wanted) return false;
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (getgrouplist(user.user.c_str(), user.gid, groups.data(), &count) < 0) {
    groups.resize(std::max(static_cast<size_t>(count), groups.size() * 2));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<size_t>(count));
  return std::ranges::count(groups, *wanted) > 0;
}

}  // namespace

Caller OwnUser() { return {geteuid(), getegid(), "", true, true}; }

Result<Caller> FindUser(const std::string& name, const std::string& operators) {
  Caller caller;
  const bool found = Look<passwd>(
      [&](passwd* entry, char* buffer, size_t size, passwd** out) {
        return getpwnam_r(name.c_str(), entry, buffer, size, out);
      },
      [&](const passwd& entry) {
        caller = {entry.pw_uid, entry.pw_gid, entry.pw_name};
      });
  if (!found) {
    return Status(kErrNoPermissions,
                  "there is no user '" + name + "' on this node");
  }
  caller.owns_agents = caller.uid == 0 || caller.uid == geteuid();
  caller.is_operator = caller.owns_agents || IsMember(caller, operators);
  return caller;
}

Result<std::string> NameOfUser(uint32_t uid) {
  std::string name;
  const bool found = Look<passwd>(
      [&](passwd* entry, char* buffer, size_t size, passwd** out) {
        return getpwuid_r(uid, entry, buffer, size, out);
      },
      [&](const passwd& entry) { name = entry.pw_name; });
  if (found) return name;
  return Status(kErrNoPermissions,
                "user " + std::to_string(uid) + " has no name on this node");
}

}  // namespace canopy::control
