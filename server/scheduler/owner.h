// Whose a scheduler's address is, where nothing but this machine's users can
// reach it: whoever serves it says where jobs run, and what is in their
// environment.
#ifndef CANOPY_SERVER_SCHEDULER_OWNER_H_
#define CANOPY_SERVER_SCHEDULER_OWNER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::scheduler {

// `address`: unix:PATH, or HOST:PORT with a host of the loopback interface.
// kErrNoPermissions: another user than `uid` and root serves it. kErrUnreach:
// nobody does. Asked before each connection, for an address can change hands.
Status CheckOwner(const std::string& address, uid_t uid);

// The users of the sockets that listen on that port, of a table as in
// /proc/net/tcp.
std::vector<uid_t> ListenersOf(std::string_view table, uint16_t port);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_OWNER_H_
