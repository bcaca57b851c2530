#include "server/process/reserved_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace canopy::process {
namespace {

// Binds a socket to any free port. With the system's default settings, an IPv6
// socket reserves the port for IPv4 too.
template <typename Address>
uint16_t BindAny(int family, Address address, uint16_t Address::*port,
                 UniqueFd* out) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!socket || bind(socket.get(), name, size) != 0 ||
      getsockname(socket.get(), name, &size) != 0) {
    return 0;
  }
  *out = std::move(socket);
  return ntohs(address.*port);
}

}  // namespace

Status ReservedPort::Reserve() {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  number_ = BindAny(AF_INET6, any6, &sockaddr_in6::sin6_port, &socket_);
  if (number_ != 0) return Status();
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  number_ = BindAny(AF_INET, any4, &sockaddr_in::sin_port, &socket_);
  if (number_ != 0) return Status();
  return Status(kErrOutOfResource,
                std::string("no free port: ") + std::strerror(errno));
}

}  // namespace canopy::process
