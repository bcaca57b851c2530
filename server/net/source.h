// For whom a connection counts before anybody knows what it is for.
#ifndef CANOPY_SERVER_NET_SOURCE_H_
#define CANOPY_SERVER_NET_SOURCE_H_

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::net {

// A user of this machine, or an address of another one. Two connections have
// the same source if and only if the names are equal.
struct Source {
  std::string name;             // as logs show it: "uid 1000", "10.0.0.7"
  std::optional<uint32_t> uid;  // unset: an address
};

Source SourceOfUser(uint32_t uid);

// IPv4: the whole address, also when it is mapped to IPv6. IPv6: the first 64
// bits, because one machine may choose the rest at will.
Source SourceOfAddress(const sockaddr_storage& address);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOURCE_H_
