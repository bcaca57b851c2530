// The directory of one server: its socket, and the directories of jobs.
#ifndef CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_
#define CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_

#include <string>
#include <utility>

#include "common/status.h"

namespace canopy::client {

// Removes it at its end.
class ServerDirectory {
 public:
  // Below `base`, or below /tmp where names below `base` are too long for a
  // socket. Who knows its name may look for what is in it, as clients of other
  // users do; `listed`: others may find it all, as tools of other users do.
  // kErrNoPermissions: it cannot be made.
  static Result<ServerDirectory> Make(const std::string& base, bool listed);
  ~ServerDirectory();
  ServerDirectory(ServerDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  ServerDirectory& operator=(ServerDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ServerDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_DIRECTORY_H_
