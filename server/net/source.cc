#include "server/net/source.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "server/net/peer_address.h"

namespace canopy::net {
namespace {

constexpr size_t kNetworkBytes = 8;  // the network part of an IPv6 address

}  // namespace

Source SourceOfUser(uint32_t uid) {
  return {"uid " + std::to_string(uid), uid};
}

Source SourceOfAddress(const sockaddr_storage& address) {
  const sockaddr_storage plain = Unmapped(address);
  char text[INET6_ADDRSTRLEN] = "";
  if (plain.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&plain);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return {text, {}};
  }
  if (plain.ss_family != AF_INET6) return {"an unknown address", {}};
  in6_addr network = reinterpret_cast<const sockaddr_in6*>(&plain)->sin6_addr;
  std::memset(network.s6_addr + kNetworkBytes, 0,
              sizeof network.s6_addr - kNetworkBytes);
  inet_ntop(AF_INET6, &network, text, sizeof text);
  return {std::string(text) + "/64", {}};
}

}  // namespace canopy::net
