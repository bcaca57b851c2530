#include "common/posix/private_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/posix/open_directory.h"
#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

constexpr mode_t kSearchable = 0711;

Status Failed(const std::string& path) {
  return Status(errno == ENOENT ? kErrNotFound : kErrNoPermissions,
                path + ": " + std::strerror(errno));
}

Status MakeDir(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return Status();
  return Failed("cannot make " + path);
}

}  // namespace

Status CheckPrivateDir(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Failed(path);
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
  const Status made = MakeDir(path);
  return made.ok() ? CheckPrivateDir(path) : made;
}

Status MakeSearchableDir(const std::string& path) {
  if (Status made = MakeDir(path); !made.ok()) return made;
  const UniqueFd directory(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!directory || fstat(directory.get(), &info) != 0) return Failed(path);
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Status(kErrNoPermissions,
                  path +
                      " is a directory of another user, or others can "
                      "change what is in it; remove it");
  }
  // A directory that others may also list stays as its owner has made it.
  if ((info.st_mode & kSearchable) == kSearchable) return Status();
  return fchmod(directory.get(), kSearchable) == 0 ? Status() : Failed(path);
}

}  // namespace canopy
