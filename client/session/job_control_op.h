// PMIx_Job_control on a session.
#ifndef CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_
#define CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct JobControlRequest {
  const pmix_proc_t* targets = nullptr;  // null: the caller's namespace
  size_t ntargets = 0;
  const pmix_info_t* directives = nullptr;
  size_t ndirs = 0;
};

// Requests the control of the targets. `results` may be null; otherwise it gets
// the agent's answer, which the caller owns.
int ControlJob(Session& session, const JobControlRequest& request,
               pmix_info_t** results, size_t* nresults);

// The non-blocking form. Calls `cbfunc`, which must not be null, on the
// progress thread, unless it returns an error.
int ControlJobAsync(Session& session, const JobControlRequest& request,
                    pmix_info_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_
