#include "server/net/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace canopy::net {
namespace {

constexpr std::string_view kIpv4 = "ipv4:";
constexpr std::string_view kIpv6 = "ipv6:";

std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16)
                .ptr == text.data() + i + 3) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Removes the name of the interface, as in "[fe80::1%2]:80", which PeerText
// does not contain.
std::string WithoutInterface(std::string text) {
  const size_t begin = text.find('%');
  const size_t end = text.rfind(']');
  if (begin < end && end != text.npos) text.erase(begin, end - begin);
  return text;
}

}  // namespace

sockaddr_storage Unmapped(const sockaddr_storage& address) {
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&address);
  if (address.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
    return address;
  }
  sockaddr_storage out = {};
  auto* in = reinterpret_cast<sockaddr_in*>(&out);
  in->sin_family = AF_INET;
  in->sin_port = in6->sin6_port;
  std::memcpy(&in->sin_addr, in6->sin6_addr.s6_addr + 12, sizeof in->sin_addr);
  return out;
}

std::string PeerText(const sockaddr_storage& address) {
  const sockaddr_storage plain = Unmapped(address);
  char text[INET6_ADDRSTRLEN] = "";
  if (plain.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&plain);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(in->sin_port));
  }
  if (plain.ss_family != AF_INET6) return "";
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&plain);
  inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(in6->sin6_port));
}

std::optional<std::string> PeerTextOfUri(std::string_view uri) {
  if (uri.starts_with(kIpv4)) return Decoded(uri.substr(kIpv4.size()));
  if (!uri.starts_with(kIpv6)) return std::nullopt;
  return WithoutInterface(Decoded(uri.substr(kIpv6.size())));
}

}  // namespace canopy::net
