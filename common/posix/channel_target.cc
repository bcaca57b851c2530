#include "common/posix/channel_target.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "common/hosts.h"

namespace canopy {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* found) const { freeaddrinfo(found); }
};

std::unique_ptr<addrinfo, FreeAddresses> AddressesOf(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return nullptr;
  return std::unique_ptr<addrinfo, FreeAddresses>(found);
}

std::string TextOf(const addrinfo& one, const std::string& port) {
  char host[NI_MAXHOST];
  if (getnameinfo(one.ai_addr, one.ai_addrlen, host, sizeof host, nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  const bool is_v6 = one.ai_family == AF_INET6;
  return (is_v6 ? "[" + std::string(host) + "]" : host) + ":" + port;
}

}  // namespace

std::string ChannelTarget(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || address.starts_with("unix:")) {
    return address;
  }
  const auto found = AddressesOf(HostOfAddress(address));
  if (found == nullptr) return address;
  const std::string port = address.substr(colon + 1);
  const int family = found->ai_family;
  std::string target;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    if (one->ai_family != family) continue;
    target += (target.empty() ? "" : ",") + TextOf(*one, port);
  }
  return (family == AF_INET6 ? "ipv6:" : "ipv4:") + target;
}

}  // namespace canopy
