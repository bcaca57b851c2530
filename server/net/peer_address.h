// The address and port of the other end of a TCP connection.
#ifndef CANOPY_SERVER_NET_PEER_ADDRESS_H_
#define CANOPY_SERVER_NET_PEER_ADDRESS_H_

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace canopy::net {

// Converts an IPv4 address that is mapped to IPv6, as sockets for both families
// report it, to IPv4. Returns any other address unchanged.
sockaddr_storage Unmapped(const sockaddr_storage& address);

// Returns "10.0.0.7:4242" or "[2001:db8::7]:4242", without the interface of a
// link-local address. Equal addresses have equal texts. Returns an empty string
// unless the address is IPv4 or IPv6.
std::string PeerText(const sockaddr_storage& address);

// Returns the text of PeerText for a peer in gRPC's notation,
// "ipv4:10.0.0.7:4242" or "ipv6:%5B2001:db8::7%5D:4242". Returns no value for
// any other form.
std::optional<std::string> PeerTextOfUri(std::string_view uri);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_PEER_ADDRESS_H_
