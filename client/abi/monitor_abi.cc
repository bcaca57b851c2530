// C entry points for monitoring processes.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/monitor_op.h"
#include "pmix.h"

using canopy::client::MonitorRequest;
using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Process_monitor(const pmix_info_t* monitor,
                                   pmix_status_t error,
                                   const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_t** results, size_t* nresults) {
  return WithSession([&](Session& session) {
    const MonitorRequest request{monitor, error, {directives, ndirs}};
    return canopy::client::Monitor(session, request, results, nresults);
  });
}

pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t* monitor,
                                      pmix_status_t error,
                                      const pmix_info_t directives[],
                                      size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                      void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const MonitorRequest request{monitor, error, {directives, ndirs}};
    return canopy::client::MonitorAsync(session, request, OrIgnore(cbfunc),
                                        cbdata);
  });
}

void PMIx_Heartbeat(void) {
  (void)WithSessionAsync([&](Session& session) -> pmix_status_t {
    canopy::client::SendHeartbeat(session);
    return PMIX_SUCCESS;
  });
}

}  // extern "C"
