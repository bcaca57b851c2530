#include "common/posix/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Removal {
  dev_t device = 0;
  uint64_t left = 0;  // entries that may still be removed
  std::string problem;

  bool Fail(const std::string& name, const char* why) {
    if (problem.empty()) problem = name + ": " + why;
    return false;
  }
};

bool RemoveContents(UniqueFd directory, int depth, Removal* removal);

bool RemoveEntry(int directory, const char* name, int depth, Removal* removal) {
  if (removal->left == 0) return removal->Fail(name, "too many files");
  --removal->left;
  if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) {
    return removal->Fail(name, std::strerror(errno));
  }
  // An empty directory is removed without a descriptor, because descriptors may
  // be exhausted.
  if (unlinkat(directory, name, AT_REMOVEDIR) == 0) return true;
  if (depth == kMaxDepth) return removal->Fail(name, "too deep");
  UniqueFd fd(openat(directory, name, kOpenDirectory));
  if (!fd) return removal->Fail(name, std::strerror(errno));
  const bool emptied = RemoveContents(std::move(fd), depth + 1, removal);
  if (unlinkat(directory, name, AT_REMOVEDIR) == 0) return emptied;
  return removal->Fail(name, std::strerror(errno));
}

bool RemoveContents(UniqueFd directory, int depth, Removal* removal) {
  struct stat info;
  if (fstat(directory.get(), &info) != 0 || info.st_dev != removal->device) {
    return removal->Fail(".", "another file system");
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(directory.get()),
                                                    closedir);
  if (entries == nullptr) return removal->Fail(".", std::strerror(errno));
  const int fd = directory.Release();  // `entries` closes it
  bool all = true;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    all = RemoveEntry(fd, entry->d_name, depth, removal) && all;
    if (removal->left == 0) break;
  }
  return all;
}

}  // namespace

Status RemoveTree(const std::string& path, uint64_t max_entries) {
  return RemoveTreeAt(AT_FDCWD, path, max_entries);
}

Status RemoveTreeAt(int parent, const std::string& name, uint64_t max_entries) {
  UniqueFd fd(openat(parent, name.c_str(), kOpenDirectory));
  if (!fd && errno == ENOENT) return Status();
  struct stat info;
  if (!fd || fstat(fd.get(), &info) != 0) {
    return Status(kErrPartialSuccess, name + ": " + std::strerror(errno));
  }
  Removal removal;
  removal.device = info.st_dev;
  removal.left = max_entries;
  (void)RemoveContents(std::move(fd), 0, &removal);
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return Status();
  if (removal.problem.empty()) removal.problem = std::strerror(errno);
  return Status(kErrPartialSuccess, name + ": " + removal.problem);
}

}  // namespace canopy
