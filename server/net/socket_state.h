// The kernel's information about a socket that another part of the process may
// be using.
#ifndef CANOPY_SERVER_NET_SOCKET_STATE_H_
#define CANOPY_SERVER_NET_SOCKET_STATE_H_

#include <cstdint>

namespace canopy::net {

// Returns a number that identifies this socket uniquely since the machine was
// booted; 0 if the descriptor is not a socket.
uint64_t CookieOf(int fd);

// Returns true if bytes have arrived that were not read yet.
bool HasUnread(int fd);

// Returns true if any byte has arrived on the TCP connection since it was
// established.
bool HasReceived(int fd);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOCKET_STATE_H_
