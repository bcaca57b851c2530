// Checks the owner of a scheduler's address that only users of this machine can
// reach, because the server there decides where jobs run and what their
// environment contains.
#ifndef CANOPY_SERVER_SCHEDULER_OWNER_H_
#define CANOPY_SERVER_SCHEDULER_OWNER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::scheduler {

// `address` is unix:PATH, or HOST:PORT with a host of the loopback interface.
// Returns kErrNoPermissions if a user other than `uid` and root serves the
// address, and kErrUnreach if no process serves it. Called before each
// connection, because the owner of an address can change.
Status CheckOwner(const std::string& address, uid_t uid);

// Returns the users of the sockets that listen on the port. `table` has the
// format of /proc/net/tcp.
std::vector<uid_t> ListenersOf(std::string_view table, uint16_t port);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_OWNER_H_
