// PMIx_Process_monitor and PMIx_Heartbeat on a session.
#ifndef CANOPY_CLIENT_SESSION_MONITOR_OP_H_
#define CANOPY_CLIENT_SESSION_MONITOR_OP_H_

#include <cstddef>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct MonitorRequest {
  const pmix_info_t* what = nullptr;
  pmix_status_t error = PMIX_SUCCESS;  // code of the alert
  InfoArray directives;
};

// Starts or ends monitoring. `results` may be null; otherwise it gets the
// agent's answer, which the caller owns.
int Monitor(Session& session, const MonitorRequest& request,
            pmix_info_t** results, size_t* nresults);

// The non-blocking form. Calls `cbfunc`, which must not be null, on the
// progress thread, unless it returns an error.
int MonitorAsync(Session& session, const MonitorRequest& request,
                 pmix_info_cbfunc_t cbfunc, void* cbdata);

// Returns without waiting for the agent.
void SendHeartbeat(Session& session);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_MONITOR_OP_H_
