#include "server/agent/bring_up/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include "common/posix/boot_id.h"

namespace canopy::agent {
namespace {

std::string Text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return text;
  }
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) return "";
  inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]";
}

std::string FirstOf(const ifaddrs* all, int family) {
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family) continue;
    if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    std::string text = Text(i->ifa_addr);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string OwnAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "127.0.0.1";
  std::string address = FirstOf(all, AF_INET);
  if (address.empty()) address = FirstOf(all, AF_INET6);
  freeifaddrs(all);
  return address.empty() ? "127.0.0.1" : address;
}

std::string MachineId() { return HostName() + "/" + BootId(); }

}  // namespace canopy::agent
