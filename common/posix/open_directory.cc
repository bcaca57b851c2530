#include "common/posix/open_directory.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

namespace canopy {
namespace {

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr int kEntry = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMaxLinks = 40;
// The number by which the kernel shows an owner that this user namespace does
// not have.
constexpr uid_t kUnmapped = 65534;

Status CannotOpen(const std::string& path, int error) {
  const int code =
      error == ENOENT || error == ENOTDIR ? kErrNotFound : kErrNoPermissions;
  return Status(code, "directory " + path + ": " + std::strerror(error));
}

// Returns true if this process's user namespace contains this user number. A
// container of an unprivileged user may contain only root; the machine's root,
// which owns "/", is then shown as kUnmapped.
bool IsMapped(uid_t uid) {
  FILE* const map = fopen("/proc/self/uid_map", "re");
  if (map == nullptr) return true;
  uint32_t inside = 0;
  uint32_t outside = 0;
  uint32_t count = 0;
  bool found = false;
  while (!found && fscanf(map, "%" SCNu32 "%" SCNu32 "%" SCNu32, &inside,
                          &outside, &count) == 3) {
    found = uid >= inside && uid - inside < count;
  }
  (void)fclose(map);
  return found;
}

bool IsRoots(uid_t uid) {
  static const bool unmapped_is_roots = !IsMapped(kUnmapped);
  return uid == 0 || (uid == kUnmapped && unmapped_is_roots);
}

bool OnlyOwnersChange(const struct stat& directory) {
  return (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
         (directory.st_mode & S_ISVTX) != 0;
}

// Follows a path from "/", one name at a time.
class Walk {
 public:
  explicit Walk(std::string path) : rest_(std::move(path)) {}

  Result<OpenedDirectory> Go() {
    const std::string path = rest_;
    Restart();
    while (error_ == 0 && out_.control != PathControl::kUser) {
      const std::string name = TakeName();
      if (name.empty()) break;
      Enter(name);
    }
    if (error_ == 0 && !out_.fd) error_ = errno;
    if (error_ != 0) return CannotOpen(path, error_);
    return std::move(out_);
  }

 private:
  void Restart() {
    out_.fd.Reset(open("/", kDirectory));
    struct stat info;
    if (!out_.fd || fstat(out_.fd.get(), &info) != 0) {
      error_ = errno;
    } else {
      Judge(info);
    }
  }

  // Returns "" if no name is left.
  std::string TakeName() {
    const size_t begin = rest_.find_first_not_of('/');
    if (begin == std::string::npos) return "";
    const size_t end = rest_.find('/', begin);
    std::string name = rest_.substr(begin, end - begin);
    rest_ = end == std::string::npos ? "" : rest_.substr(end);
    return name;
  }

  void Enter(const std::string& name) {
    UniqueFd entry(openat(out_.fd.get(), name.c_str(), kEntry));
    struct stat info;
    if (!entry || fstat(entry.get(), &info) != 0) {
      error_ = errno;
    } else if (S_ISLNK(info.st_mode)) {
      Follow(name, entry.get(), info);
    } else if (!S_ISDIR(info.st_mode)) {
      error_ = ENOTDIR;
    } else {
      out_.fd = std::move(entry);
      Judge(info);
    }
  }

  // Updates the result for the directory that was entered.
  void Judge(const struct stat& info) {
    if (!IsRoots(info.st_uid)) {
      LeaveTo(info.st_uid, rest_);
    } else if (!OnlyOwnersChange(info)) {
      out_.control = PathControl::kShared;
    }
  }

  void Follow(const std::string& name, int link, const struct stat& info) {
    char target[PATH_MAX];
    if (!IsRoots(info.st_uid)) return LeaveTo(info.st_uid, name + rest_);
    const ssize_t size = readlinkat(link, "", target, sizeof target);
    if (out_.control != PathControl::kOwn || ++links_ > kMaxLinks) {
      error_ = ELOOP;
    } else if (size < 0) {
      error_ = errno;
    } else {
      rest_ = std::string(target, static_cast<size_t>(size)) + rest_;
      if (rest_[0] == '/') Restart();
    }
  }

  // Follows the rest of the path with the rights of the user who controls it.
  void LeaveTo(uid_t uid, const std::string& rest) {
    out_.control = PathControl::kUser;
    out_.user = {uid, kNoGroup};
    const size_t begin = rest.find_first_not_of('/');
    if (begin == std::string::npos) return;
    const std::string path = rest.substr(begin);
    const Status status = RunAsUser(out_.user, [&] {
      out_.fd = UniqueFd(openat(out_.fd.get(), path.c_str(), kDirectory));
      if (!out_.fd) error_ = errno;
    });
    if (!status.ok()) error_ = EACCES;
  }

  OpenedDirectory out_ = {{}, PathControl::kOwn, {0, getegid()}};
  std::string rest_;
  int links_ = 0;
  int error_ = 0;
};

Result<OpenedDirectory> OpenAsEver(const std::string& path) {
  OpenedDirectory out = {UniqueFd(open(path.c_str(), kDirectory)),
                         PathControl::kOwn,
                         {geteuid(), getegid()}};
  if (!out.fd) return CannotOpen(path, errno);
  return out;
}

}  // namespace

Result<OpenedDirectory> OpenDirectory(const std::string& path) {
  if (!IsPrivileged()) return OpenAsEver(path);
  if (path.starts_with('/')) return Walk(path).Go();
  char here[PATH_MAX];
  if (getcwd(here, sizeof here) == nullptr) return CannotOpen(path, errno);
  return Walk(std::string(here) + "/" + path).Go();
}

SplitPath SplitLast(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash == 0 ? 1 : slash), path.substr(slash + 1)};
}

}  // namespace canopy
