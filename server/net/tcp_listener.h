// Listening TCP sockets.
#ifndef CANOPY_SERVER_NET_TCP_LISTENER_H_
#define CANOPY_SERVER_NET_TCP_LISTENER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::net {

// Returns a non-blocking socket that listens at a numeric IPv4 or IPv6 address;
// port 0 selects a free port. kErrBadParam: `address` is not an address;
// kErrUnreach: it is in use or does not belong to this machine.
Result<UniqueFd> ListenTcp(const std::string& address, uint16_t port);

// Returns non-blocking sockets that listen on "HOST:PORT", all on the same
// port. HOST is an address (IPv6 in brackets) or a name, which stands for all
// its addresses; the call succeeds if one of them can be used. "0.0.0.0",
// "[::]" and an empty host stand for every address of both families. Port 0
// selects a free port. May query a name server. Errors are those of ListenTcp.
Result<std::vector<UniqueFd>> ListenAt(const std::string& host_and_port);

// Returns the port of a listening socket.
uint16_t PortOf(int listener);

// Returns "a.b.c.d:port" or "[addr]:port", with the port of the listening
// socket.
std::string AddressOf(const std::string& address, int listener);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_TCP_LISTENER_H_
