// Listening TCP sockets for OpenPMIx's protocol.
#ifndef CANOPY_SERVER_OPENPMIX_TCP_LISTENER_H_
#define CANOPY_SERVER_OPENPMIX_TCP_LISTENER_H_

#include <cstdint>
#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::openpmix {

// Does not block. `address` is numeric, of IPv4 or IPv6; port 0: any.
// kErrBadParam: it is no address; kErrUnreach: taken, or none of this
// machine's.
Result<UniqueFd> ListenTcp(const std::string& address, uint16_t port);

// Of a listening socket.
uint16_t PortOf(int listener);

// "a.b.c.d:port" or "[addr]:port", with the port of the socket that listens.
std::string AddressOf(const std::string& address, int listener);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TCP_LISTENER_H_
