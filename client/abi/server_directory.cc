#include "client/abi/server_directory.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/posix/remove_tree.h"

namespace canopy::client {
namespace {

constexpr char kName[] = "/canopy-XXXXXX";
constexpr char kShortBase[] = "/tmp";
// The longest name in it: a socket's, while it is made.
constexpr size_t kInside = sizeof "/clients.sock.4194304";
constexpr size_t kLongest = sizeof(sockaddr_un::sun_path);
constexpr uint64_t kMaxFilesRemoved = 100000;

}  // namespace

Result<ServerDirectory> ServerDirectory::Make(const std::string& base,
                                              bool listed) {
  std::string path = base + kName;
  if (path.size() + kInside > kLongest) path = std::string(kShortBase) + kName;
  if (mkdtemp(path.data()) == nullptr) {
    return Status(kErrNoPermissions, path + ": " + std::strerror(errno));
  }
  ServerDirectory directory(path);
  if (chmod(path.c_str(), listed ? 0755 : 0711) != 0) {
    return Status(kErrNoPermissions, path + ": " + std::strerror(errno));
  }
  return directory;
}

ServerDirectory::~ServerDirectory() {
  if (!path_.empty()) (void)RemoveTree(path_, kMaxFilesRemoved);
}

}  // namespace canopy::client
