// The stop in PMIx_Init for a debugger.
#ifndef CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
#define CANOPY_CLIENT_SESSION_DEBUG_STOP_H_

#include "client/session/session.h"

namespace canopy::client {

// When this process is one that the job's PMIX_DEBUG_STOP_IN_INIT means: says
// that it waits (PMIX_READY_FOR_DEBUG, breakpoint "pmix-init"), and returns
// once PMIX_DEBUGGER_RELEASE has come, or has come before. Else it returns at
// once. A PMIx status: that of the agent when it does not let it register or
// say so; PMIX_ERR_LOST_CONNECTION: the agent is gone for good, and so is who
// could release it; PMIX_ERR_UNREACH: a tool without a server is to stop. Not
// from a callback.
int StopForDebugger(Session& session);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
