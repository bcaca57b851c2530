#include "common/posix/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "common/posix/open_directory.h"
#include "common/posix/run_as_user.h"

namespace canopy {
namespace {

UniqueFd Refused() {
  errno = EACCES;
  return UniqueFd();
}

UniqueFd OpenIn(const OpenedDirectory& directory, const std::string& name,
                int flags, mode_t mode) {
  struct stat info;
  if (fstat(directory.fd.get(), &info) != 0) return UniqueFd();
  const bool several = directory.control != PathControl::kUser &&
                       (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!several) {
    return UniqueFd(openat(directory.fd.get(), name.c_str(), flags, mode));
  }
  // O_TRUNC is delayed until the owner of the file is known.
  UniqueFd fd(openat(directory.fd.get(), name.c_str(),
                     (flags & ~O_TRUNC) | O_NOFOLLOW, mode));
  if (!fd || fstat(fd.get(), &info) != 0) return UniqueFd();
  if (info.st_uid != directory.user.uid) return Refused();
  if ((flags & O_TRUNC) != 0 && S_ISREG(info.st_mode) &&
      ftruncate(fd.get(), 0) != 0) {
    return UniqueFd();
  }
  return fd;
}

}  // namespace

UniqueFd OpenToWrite(const std::string& path, int flags, mode_t mode) {
  if (!IsPrivileged()) return UniqueFd(open(path.c_str(), flags, mode));
  const auto parts = SplitLast(path);
  const Result<OpenedDirectory> parent = OpenDirectory(parts.directory);
  if (!parent.ok()) {
    errno = parent.code() == kErrNotFound ? ENOENT : EACCES;
    return UniqueFd();
  }
  UniqueFd fd;
  int error = EACCES;
  const Status run = RunAsUser(parent->user, [&] {
    fd = OpenIn(*parent, parts.name, flags, mode);
    error = errno;
  });
  errno = error;
  return fd;
}

}  // namespace canopy
