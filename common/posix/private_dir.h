// Directories that belong to one user.
#ifndef CANOPY_COMMON_POSIX_PRIVATE_DIR_H_
#define CANOPY_COMMON_POSIX_PRIVATE_DIR_H_

#include <cstddef>
#include <string>

#include "common/status.h"

namespace canopy {

// The beginning of the names of the directories that this user's agents and
// servers make in a directory of others, such as /tmp.
inline constexpr char kDirectoryPrefix[] = "canopy-";

// An agent's directory leaves this many bytes of a socket's path (sun_path) for
// the sockets in it.
inline constexpr size_t kSocketNameRoom = 40;

// Returns true if `path` is a directory and, for root, no other user can change
// where the path leads (OpenDirectory).
bool IsOwnDirectory(const std::string& path);

// Returns ${XDG_RUNTIME_DIR} if it is the absolute path of a writable directory
// for which IsOwnDirectory returns true, otherwise /tmp.
std::string RuntimeBase();
// Returns the directory "canopy-UID" in RuntimeBase, which contains everything
// that this user runs.
std::string UserRuntimeDir();

// Returns ${TMPDIR} if it is set, otherwise /tmp: the directory in which tools
// search for files.
std::string TemporaryBase();

// Returns kErrNoPermissions unless `path` is a real directory of this user that
// no other user may enter, and kErrNotFound if it does not exist.
Status CheckPrivateDir(const std::string& path);

// Makes `path` with mode 0700, or accepts an existing private directory.
// Returns kErrNoPermissions, with the reason, if `path` is another file or
// another directory, and kErrNotFound if the parent does not exist.
Status MakePrivateDir(const std::string& path);

// Like MakePrivateDir, but with mode 0711: other users reach the files in the
// directory whose names they know. An existing directory of this user that no
// other user can write gets this mode.
Status MakeSearchableDir(const std::string& path);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_PRIVATE_DIR_H_
