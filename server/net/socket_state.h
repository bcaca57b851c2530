// What the kernel says of a socket that somebody else may be using.
#ifndef CANOPY_SERVER_NET_SOCKET_STATE_H_
#define CANOPY_SERVER_NET_SOCKET_STATE_H_

#include <cstdint>

namespace canopy::net {

// A number of this socket, which no other one has had since the machine was
// started. 0: the descriptor is not of a socket.
uint64_t CookieOf(int fd);

// Whether bytes have arrived that nobody has read.
bool HasUnread(int fd);

// Whether any byte has arrived on a TCP connection since it was made.
bool HasReceived(int fd);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOCKET_STATE_H_
