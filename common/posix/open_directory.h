// Opens directories by paths that other users may change meanwhile.
#ifndef CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_
#define CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_

#include <string>

#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy {

// The users who can change where a path leads, and the names in its directory.
enum class PathControl {
  kOwn,  // only root and this process's user
  // Any user, because a directory on the path, or the opened directory itself,
  // belongs to root, is writable by others and is not sticky.
  kShared,
  kUser,  // the user who owns a directory or a link on the path
};

struct OpenedDirectory {
  UniqueFd fd;  // O_PATH
  PathControl control = PathControl::kOwn;
  // The user with whose rights the names in the directory may be used: the user
  // of this process, except for kUser.
  FileUser user;
};

// Opens `path`, which may be relative. A privileged process follows the path
// one name at a time: a symbolic link is followed only if root made it and only
// root controls its directory. From the first directory or link of another user
// on, the rest of the path is followed with that user's rights. So a path never
// leads to a place that the users who control it could not reach themselves. In
// an unprivileged process, which has no additional rights, every path is kOwn.
//
// kErrNotFound: there is no such directory; kErrNoPermissions: the process must
// not enter it, or a link on the path is not followed.
Result<OpenedDirectory> OpenDirectory(const std::string& path);

// The path of the directory that contains a file, and the file's name there.
// SplitLast returns "/" and "tmp" for "/tmp", and "." and "file" for "file";
// `path` must not end with a slash.
struct SplitPath {
  std::string directory;
  std::string name;
};
SplitPath SplitLast(const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_OPEN_DIRECTORY_H_
