// The address and port of the other end of a TCP connection.
#ifndef CANOPY_SERVER_NET_PEER_ADDRESS_H_
#define CANOPY_SERVER_NET_PEER_ADDRESS_H_

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace canopy::net {

// An address of IPv4 that is mapped to IPv6, as sockets for both families have
// it, becomes one of IPv4. Anything else is returned as it is.
sockaddr_storage Unmapped(const sockaddr_storage& address);

// "10.0.0.7:4242", "[2001:db8::7]:4242"; equal texts are equal addresses. Empty
// for what is neither IPv4 nor IPv6.
std::string PeerText(const sockaddr_storage& address);

// The same text from the form in which gRPC names a peer, "ipv4:10.0.0.7:4242"
// or "ipv6:%5B2001:db8::7%5D:4242". Nothing: it is another form.
std::optional<std::string> PeerTextOfUri(std::string_view uri);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_PEER_ADDRESS_H_
