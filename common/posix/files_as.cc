#include "common/posix/files_as.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace canopy {
namespace {

// The raw system call: glibc's wrapper changes all threads.
bool SetGroups(const std::vector<gid_t>& groups) {
  return syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::optional<std::vector<gid_t>> Groups() {
  const int count = getgroups(0, nullptr);
  if (count < 0) return std::nullopt;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  if (getgroups(count, groups.data()) != count) return std::nullopt;
  return groups;
}

// setfsuid and setfsgid tell of no failure but by the identity that they leave.
bool IsUserOfFiles(uid_t uid, gid_t gid) {
  return static_cast<uid_t>(setfsuid(static_cast<uid_t>(-1))) == uid &&
         static_cast<gid_t>(setfsgid(static_cast<gid_t>(-1))) == gid;
}

}  // namespace

FilesAs::FilesAs(uid_t uid, gid_t gid)
    : own_uid_(geteuid()), own_gid_(getegid()) {
  if (uid != own_uid_) ok_ = own_uid_ == 0 && Change(uid, gid);
}

// Gives up what it can, also where it cannot give up everything.
bool FilesAs::Change(uid_t uid, gid_t gid) {
  changed_ = true;
  own_groups_ = Groups();
  if (own_groups_ && !SetGroups({})) own_groups_.reset();
  setfsgid(gid);
  setfsuid(uid);
  return own_groups_.has_value() && IsUserOfFiles(uid, gid);
}

FilesAs::~FilesAs() {
  if (!changed_) return;
  setfsuid(own_uid_);
  setfsgid(own_gid_);
  if (own_groups_) (void)SetGroups(*own_groups_);
}

}  // namespace canopy
