// Distinguishes a file from others that had or get its path.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FILE_IDENTITY_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FILE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::kubernetes {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  // Time of the last change of the inode. A new file may have the inode number
  // of one that was removed.
  int64_t changed_ns = 0;

  bool operator==(const FileIdentity&) const = default;
};

// Returns the identity of the file itself, also if it is a link. Returns no
// value if there is no file.
inline std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{
      info.st_dev, info.st_ino,
      info.st_ctim.tv_sec * int64_t{1'000'000'000} + info.st_ctim.tv_nsec};
}

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FILE_IDENTITY_H_
