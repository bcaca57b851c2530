// Job control.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/job_control_op.h"
#include "pmix.h"

using canopy::client::ControlJob;
using canopy::client::Session;
using canopy::client::WithSession;

extern "C" {

pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets,
                               const pmix_info_t directives[], size_t ndirs,
                               pmix_info_t** results, size_t* nresults) {
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  return WithSession([&](Session& session) {
    return ControlJob(session, targets, ntargets, directives, ndirs);
  });
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets,
                                  const pmix_info_t directives[], size_t ndirs,
                                  pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return WithSession([&](Session& session) -> pmix_status_t {
    const int rc = ControlJob(session, targets, ntargets, directives, ndirs);
    if (rc == PMIX_SUCCESS && cbfunc != nullptr) {
      session.progress().Post(
          [=] { cbfunc(PMIX_SUCCESS, nullptr, 0, cbdata, nullptr, nullptr); });
    }
    return rc;
  });
}

}  // extern "C"
