// C entry points for job control.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/job_control_op.h"
#include "pmix.h"

using canopy::client::JobControlRequest;
using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets,
                               const pmix_info_t directives[], size_t ndirs,
                               pmix_info_t** results, size_t* nresults) {
  return WithSession([&](Session& session) {
    const JobControlRequest request{targets, ntargets, directives, ndirs};
    return canopy::client::ControlJob(session, request, results, nresults);
  });
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets,
                                  const pmix_info_t directives[], size_t ndirs,
                                  pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const JobControlRequest request{targets, ntargets, directives, ndirs};
    return canopy::client::ControlJobAsync(session, request, OrIgnore(cbfunc),
                                           cbdata);
  });
}

}  // extern "C"
