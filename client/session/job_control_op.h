// The part of PMIx_Job_control that this process can answer by itself: asking
// for the removal of files that the agent removes anyway.
#ifndef CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_
#define CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Registers files and directories below the job's own directory (PMIX_NSDIR)
// for removal at the end: the agent removes that directory with everything in
// it. PMIX_ERR_NOT_SUPPORTED for files elsewhere, for directives that would
// keep something, and for every other kind of control.
int ControlJob(Session& session, const pmix_proc_t* targets, size_t ntargets,
               const pmix_info_t* directives, size_t ndirs);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_JOB_CONTROL_OP_H_
