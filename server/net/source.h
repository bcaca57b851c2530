// The party to which a connection is attributed before it has identified
// itself.
#ifndef CANOPY_SERVER_NET_SOURCE_H_
#define CANOPY_SERVER_NET_SOURCE_H_

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::net {

// A user of this machine, or an address of another machine. Two sources are the
// same if and only if their names are equal.
struct Source {
  std::string name;             // as shown in logs: "uid 1000", "10.0.0.7"
  std::optional<uint32_t> uid;  // unset for an address
};

// Returns the source of a user of this machine.
Source SourceOfUser(uint32_t uid);

// The source is the whole address for IPv4 (including mapped addresses). For
// IPv6 it is the first 64 bits, because a machine can choose the rest freely.
Source SourceOfAddress(const sockaddr_storage& address);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOURCE_H_
