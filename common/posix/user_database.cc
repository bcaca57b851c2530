#include "common/posix/user_database.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>

namespace canopy {
namespace {

constexpr size_t kFirstBuffer = 1024;
constexpr size_t kMaxBuffer = 1 << 20;  // a group may have thousands of members

// Calls a function such as getpwnam_r with larger and larger buffers. `take`
// converts the entry while the buffer lives.
template <typename Entry, typename Find, typename Take>
auto Look(Find find, Take take) -> std::optional<decltype(take(Entry()))> {
  for (size_t size = kFirstBuffer; size <= kMaxBuffer; size *= 2) {
    std::vector<char> buffer(size);
    Entry entry;
    Entry* found = nullptr;
    const int error = find(&entry, buffer.data(), size, &found);
    if (error == ERANGE) continue;
    if (error != 0 || found == nullptr) return std::nullopt;
    return take(*found);
  }
  return std::nullopt;
}

UserEntry EntryOf(const passwd& entry) {
  return {entry.pw_uid, entry.pw_gid, entry.pw_name};
}

}  // namespace

std::optional<UserEntry> FindUserByName(const std::string& name) {
  return Look<passwd>(
      [&](passwd* entry, char* buffer, size_t size, passwd** out) {
        return getpwnam_r(name.c_str(), entry, buffer, size, out);
      },
      EntryOf);
}

std::optional<UserEntry> FindUserByNumber(uid_t uid) {
  return Look<passwd>(
      [&](passwd* entry, char* buffer, size_t size, passwd** out) {
        return getpwuid_r(uid, entry, buffer, size, out);
      },
      EntryOf);
}

std::optional<gid_t> FindGroup(const std::string& name) {
  return Look<group>(
      [&](group* entry, char* buffer, size_t size, group** out) {
        return getgrnam_r(name.c_str(), entry, buffer, size, out);
      },
      [](const group& entry) { return entry.gr_gid; });
}

std::vector<gid_t> GroupsOf(const std::string& user, gid_t gid) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  while (getgrouplist(user.c_str(), gid, groups.data(), &count) < 0) {
    groups.resize(std::max(static_cast<size_t>(count), groups.size() * 2));
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<size_t>(count));
  return groups;
}

}  // namespace canopy
