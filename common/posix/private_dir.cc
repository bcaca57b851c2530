#include "common/posix/private_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/posix/open_directory.h"

namespace canopy {

Status CheckPrivateDir(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return Status(errno == ENOENT ? kErrNotFound : kErrNoPermissions,
                  path + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0) {
    return Status(kErrNoPermissions,
                  path +
                      " is not a private directory of this user; remove it "
                      "or set XDG_RUNTIME_DIR");
  }
  return Status();
}

std::string TemporaryBase() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
}

bool IsOwnDirectory(const std::string& path) {
  const Result<OpenedDirectory> opened = OpenDirectory(path);
  return opened.ok() && opened->control == PathControl::kOwn;
}

// XDG_RUNTIME_DIR counts only if the directory is this user's own, because a
// shell of root may have inherited the variable from the session of another
// user.
std::string RuntimeBase() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/' && access(runtime, W_OK) == 0 &&
      IsOwnDirectory(runtime)) {
    return runtime;
  }
  return "/tmp";
}

std::string UserRuntimeDir() {
  return RuntimeBase() + "/" + kDirectoryPrefix + std::to_string(geteuid());
}

Status MakePrivateDir(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(errno == ENOENT ? kErrNotFound : kErrNoPermissions,
                  "cannot make " + path + ": " + std::strerror(errno));
  }
  return CheckPrivateDir(path);
}

}  // namespace canopy
