// Listening TCP sockets.
#ifndef CANOPY_SERVER_NET_TCP_LISTENER_H_
#define CANOPY_SERVER_NET_TCP_LISTENER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::net {

// One socket, which does not block. `address` is numeric, of IPv4 or IPv6; port
// 0: any. kErrBadParam: it is no address; kErrUnreach: taken, or none of this
// machine's.
Result<UniqueFd> ListenTcp(const std::string& address, uint16_t port);

// On "HOST:PORT", sockets that do not block and have one port. HOST is an
// address, with brackets for IPv6, or a name, all of whose addresses are meant.
// "0.0.0.0", "[::]" and no host at all mean every address of either family.
// Port 0: any. May ask a name server. Errors as for ListenTcp.
Result<std::vector<UniqueFd>> ListenAt(const std::string& host_and_port);

// Of a listening socket.
uint16_t PortOf(int listener);

// "a.b.c.d:port" or "[addr]:port", with the port of the socket that listens.
std::string AddressOf(const std::string& address, int listener);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_TCP_LISTENER_H_
