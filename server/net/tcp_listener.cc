#include "server/net/tcp_listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace canopy::net {
namespace {

constexpr int kBacklog = 4096;

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  bool both_families = false;
};

void SetPort(Address* address, uint16_t port) {
  if (address->storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address->storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&address->storage)->sin_port = htons(port);
  }
}

std::optional<Address> ParseAddress(const std::string& text) {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    address.size = sizeof *in;
  } else if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1) {
    in6->sin6_family = AF_INET6;
    address.size = sizeof *in6;
  } else {
    return std::nullopt;
  }
  return address;
}

Status SystemError() {
  return Status(kErrUnreach,
                std::string("cannot listen: ") + std::strerror(errno));
}

Result<UniqueFd> Listen(const Address& address) {
  UniqueFd fd(socket(address.storage.ss_family,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return SystemError();
  if (address.storage.ss_family == AF_INET6) {
    const int only = address.both_families ? 0 : 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  }
  const int one = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage),
           address.size) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return SystemError();
  }
  return fd;
}

struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};

std::optional<HostAndPort> Split(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  HostAndPort out{text.substr(0, colon), 0};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, out.port);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  return out;
}

bool IsWildcard(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

// Listens on all addresses of both families, or of IPv4 only if there is no
// IPv6.
Result<std::vector<UniqueFd>> ListenEverywhere(uint16_t port) {
  Address every = *ParseAddress("::");
  every.both_families = true;
  SetPort(&every, port);
  Result<UniqueFd> fd = Listen(every);
  if (!fd.ok()) fd = ListenTcp("0.0.0.0", port);
  if (!fd.ok()) return fd.status();
  std::vector<UniqueFd> all;
  all.push_back(*std::move(fd));
  return all;
}

std::vector<Address> AddressesOf(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<Address> all;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return all;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) {
    Address address;
    if (i->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, i->ai_addr, i->ai_addrlen);
    address.size = i->ai_addrlen;
    all.push_back(address);
  }
  return all;
}

}  // namespace

Result<UniqueFd> ListenTcp(const std::string& text, uint16_t port) {
  std::optional<Address> address = ParseAddress(text);
  if (!address) {
    return Status(kErrBadParam, "'" + text + "' is no numeric address");
  }
  SetPort(&*address, port);
  return Listen(*address);
}

Result<std::vector<UniqueFd>> ListenAt(const std::string& host_and_port) {
  const std::optional<HostAndPort> at = Split(host_and_port);
  if (!at) {
    return Status(kErrBadParam, "'" + host_and_port + "' is not HOST:PORT");
  }
  if (IsWildcard(at->host)) return ListenEverywhere(at->port);
  std::vector<UniqueFd> all;
  uint16_t port = at->port;
  Status status(kErrBadParam, "'" + at->host + "' is no address or name");
  for (Address& address : AddressesOf(at->host)) {
    SetPort(&address, port);
    Result<UniqueFd> fd = Listen(address);
    status = fd.status();
    if (!fd.ok()) continue;
    port = PortOf(fd->get());
    all.push_back(*std::move(fd));
  }
  if (all.empty()) return status;
  return all;
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

}  // namespace canopy::net
