#include "server/endpoint/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "common/posix/unique_fd.h"
#include "common/posix/unix_socket.h"
#include "common/status.h"

namespace canopy::endpoint {

// The state follows the program's name, which may contain any character.
bool IsStopped(int pid) {
  if (pid <= 0) return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = fd ? read(fd.get(), text, sizeof text) : -1;
  if (size <= 0) return false;
  const std::string_view stat(text, static_cast<size_t>(size));
  const size_t end = stat.rfind(')');
  if (end == std::string_view::npos || end + 2 >= stat.size()) return false;
  return stat[end + 2] == 'T' || stat[end + 2] == 't';
}

int PidOfPeer(int fd) {
  const Result<PeerCredentials> peer = GetPeerCredentials(fd);
  return peer.ok() ? peer->pid : 0;
}

}  // namespace canopy::endpoint
