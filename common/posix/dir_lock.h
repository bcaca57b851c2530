// A lock on a directory, which the kernel releases when its holder ends.
#ifndef CANOPY_COMMON_POSIX_DIR_LOCK_H_
#define CANOPY_COMMON_POSIX_DIR_LOCK_H_

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {

enum class DirLock {
  kLocked,       // held for as long as the descriptor is open
  kBusy,         // another process holds it
  kGone,         // there is no directory at the path
  kUnsupported,  // the file system has no locks
};

// Takes the exclusive lock (flock) of the directory at `path` without waiting.
// Follows no link. `*fd` is the directory, closed on exec, after kLocked and
// kUnsupported.
DirLock LockDir(const std::string& path, UniqueFd* fd);

// Whether `fd` is the directory that is at `path` now.
bool IsDirAt(int fd, const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_DIR_LOCK_H_
