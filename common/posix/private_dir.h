// Directories that belong to one user alone.
#ifndef CANOPY_COMMON_POSIX_PRIVATE_DIR_H_
#define CANOPY_COMMON_POSIX_PRIVATE_DIR_H_

#include <string>

#include "common/status.h"

namespace canopy {

// Whether `path` is a directory, and this process is not root or no other user
// can change what the path leads to (OpenDirectory).
bool IsOwnDirectory(const std::string& path);

// ${XDG_RUNTIME_DIR} when it is set, writable and IsOwnDirectory, else /tmp.
std::string RuntimeBase();
// What all that this user runs has there: its directory "canopy-UID".
std::string UserRuntimeDir();

// ${TMPDIR} when it is set, else /tmp: where files are that tools look for.
std::string TemporaryBase();

// kErrNoPermissions unless `path` is a real directory of this user that nobody
// else may enter; kErrNotFound when there is nothing.
Status CheckPrivateDir(const std::string& path);

// Makes `path` with mode 0700, or takes it when it is there already and
// private. kErrNoPermissions says what is in the way; kErrNotFound: its parent
// does not exist.
Status MakePrivateDir(const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_PRIVATE_DIR_H_
