#include "common/posix/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace canopy {

DirLock LockDir(const std::string& path, UniqueFd* fd) {
  UniqueFd opened(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return DirLock::kGone;
  DirLock result = DirLock::kLocked;
  if (flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return DirLock::kBusy;
    result = DirLock::kUnsupported;
  }
  // The last holder may have removed the directory after it was opened here.
  if (!IsDirAt(opened.get(), path)) return DirLock::kGone;
  *fd = std::move(opened);
  return result;
}

UniqueFd ShareDir(const std::string& path) {
  UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) (void)flock(fd.get(), LOCK_SH | LOCK_NB);
  return fd;
}

bool IsDirAt(int fd, const std::string& path) {
  struct stat held = {};
  struct stat there = {};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

}  // namespace canopy
