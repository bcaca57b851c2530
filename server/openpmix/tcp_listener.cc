#include "server/openpmix/tcp_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace canopy::openpmix {
namespace {

constexpr int kBacklog = 4096;

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

Result<Address> ParseAddress(const std::string& text, uint16_t port) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    address.size = sizeof *in;
  } else if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    address.size = sizeof *in6;
  } else {
    return Status(kErrBadParam, "'" + text + "' is no numeric address");
  }
  return address;
}

}  // namespace

Result<UniqueFd> ListenTcp(const std::string& text, uint16_t port) {
  const Result<Address> address = ParseAddress(text, port);
  if (!address.ok()) return address.status();
  UniqueFd fd(socket(address->storage.ss_family,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int one = 1;
  if (address->storage.ss_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (!fd ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address->storage),
           address->size) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Status(kErrUnreach, std::string("cannot listen for programs with "
                                           "their own OpenPMIx library: ") +
                                   std::strerror(errno));
  }
  return fd;
}

uint16_t PortOf(int listener) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  getsockname(listener, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

std::string AddressOf(const std::string& address, int listener) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" +
         std::to_string(PortOf(listener));
}

}  // namespace canopy::openpmix
