// A lock on a directory. The kernel releases it when its holder ends.
#ifndef CANOPY_COMMON_POSIX_DIR_LOCK_H_
#define CANOPY_COMMON_POSIX_DIR_LOCK_H_

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {

enum class DirLock {
  kLocked,       // held as long as the descriptor is open
  kBusy,         // another process holds it
  kGone,         // there is no directory at the path
  kUnsupported,  // the file system has no locks
};

// Takes the exclusive lock (flock) of the directory at `path` without waiting.
// Does not follow links. After kLocked and kUnsupported, `*fd` is the
// directory, close-on-exec.
DirLock LockDir(const std::string& path, UniqueFd* fd);

// Opens the directory at `path`, without following links, and takes its shared
// lock if the lock is free and supported. While the returned descriptor is
// open, no process gets the exclusive lock. Returns an empty descriptor if
// there is no directory.
UniqueFd ShareDir(const std::string& path);

// Returns true if `fd` is the directory that is now at `path`.
bool IsDirAt(int fd, const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_DIR_LOCK_H_
