// Opening a directory by a path that users may tamper with meanwhile.
#ifndef CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_
#define CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_

#include <string>

#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy {

// Who can change what a path leads to, and what the names in its directory
// mean.
enum class PathControl {
  kOwn,     // nobody but root and this process's user
  kShared,  // any user: a directory on the way, or this one, is root's, others
            // may write it, and it is not sticky
  kUser,    // the user who owns a directory or a link on the way
};

struct OpenedDirectory {
  UniqueFd fd;  // O_PATH
  PathControl control = PathControl::kOwn;
  // With whose rights the names in the directory may be used: this process's
  // own but for kUser.
  FileUser user;
};

// Opens `path`, which may be relative. A privileged process follows it one name
// at a time: a symbolic link is followed only if root made it and root alone
// controls the directory that it is in. From the first directory or link on
// that belongs to another user, the rest of the path is followed with that
// user's rights. So a path never leads to what the users who control it could
// not reach themselves. In a process that is not privileged, which has no
// rights to lend, every path is kOwn.
//
// kErrNotFound: there is no such directory; kErrNoPermissions: it may not be
// entered, or a link on the way is not followed.
Result<OpenedDirectory> OpenDirectory(const std::string& path);

// The path of the directory that `path` is in, and its name there: "/" and
// "tmp" of "/tmp", "." and "file" of "file". `path` does not end with a slash.
struct SplitPath {
  std::string directory;
  std::string name;
};
SplitPath SplitLast(const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_
