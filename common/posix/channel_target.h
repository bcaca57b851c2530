// The addresses to which a gRPC channel connects.
#ifndef CANOPY_COMMON_POSIX_CHANNEL_TARGET_H_
#define CANOPY_COMMON_POSIX_CHANNEL_TARGET_H_

#include <string>

namespace canopy {

// Returns the target of a channel to HOST:PORT: the addresses that the system's
// resolver has for the host, in one address family. gRPC's own resolver asks
// DNS servers, so it finds no host of another source of nsswitch.conf, and
// waits for a DNS server where there is none. Returns `address` itself if it
// has no name of a host, such as unix:PATH, or if the name is unknown. May
// block on the resolver.
std::string ChannelTarget(const std::string& address);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_CHANNEL_TARGET_H_
