// The stop in PMIx_Init for a debugger.
#ifndef CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
#define CANOPY_CLIENT_SESSION_DEBUG_STOP_H_

#include "client/session/session.h"

namespace canopy::client {

// Stops this process if its call requests it (`asked`, InitOptions::stops), or
// if the job's PMIX_DEBUG_STOP_IN_INIT names this process. The process then
// announces that it waits (PMIX_READY_FOR_DEBUG, breakpoint "pmix-init") and
// returns after PMIX_DEBUGGER_RELEASE, which may have arrived before. Otherwise
// it returns at once. Returns a PMIx status: the agent's status if the agent
// refuses the registration or the announcement; PMIX_ERR_LOST_CONNECTION if the
// agent is lost for good, because a release could no longer arrive;
// PMIX_ERR_UNREACH if there is no server. Must not be called from a callback.
int StopForDebugger(Session& session, bool asked);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_DEBUG_STOP_H_
