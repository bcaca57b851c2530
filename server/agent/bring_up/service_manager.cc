#include "server/agent/bring_up/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/posix/unique_fd.h"

namespace canopy::agent {

void ReportReady() {
  constexpr std::string_view kReady = "READY=1";
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = variable == nullptr ? "" : variable;
  sockaddr_un address = {};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // The notation for a socket without a file.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sendto(fd.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
}

}  // namespace canopy::agent
