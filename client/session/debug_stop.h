// The stop in PMIx_Init for a debugger.
#ifndef CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
#define CANOPY_CLIENT_SESSION_DEBUG_STOP_H_

#include "client/session/session.h"

namespace canopy::client {

// Stops this process if it has `asked` for it, or if the
// PMIX_DEBUG_STOP_IN_INIT of its job names it: announces that it waits
// (PMIX_READY_FOR_DEBUG, breakpoint "pmix-init"), and returns once
// PMIX_DEBUGGER_RELEASE has come, or has come before. Otherwise it returns at
// once. Returns a PMIx status: that of the agent if the agent refuses the
// registration or the announcement; PMIX_ERR_LOST_CONNECTION if the agent is
// gone for good, because then nobody can release the process; PMIX_ERR_UNREACH
// without a server. Not from a callback.
int StopForDebugger(Session& session, bool asked);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
