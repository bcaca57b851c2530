// PMIx_Spawn and PMIx_Spawn_nb on a session.
#ifndef CANOPY_CLIENT_SESSION_SPAWN_OP_H_
#define CANOPY_CLIENT_SESSION_SPAWN_OP_H_

#include <cstddef>
#include <span>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// The caller owns the arrays, which are not used after the call. All directives
// are forwarded to the agents, which start the job.
struct SpawnRequest {
  InfoArray directives;  // of the job
  std::span<const pmix_app_t> apps;
};

// Starts a job. Returns when all its processes have started, or could not be
// started. Errors: PMIX_ERR_BAD_PARAM for wrong arguments,
// PMIX_ERR_JOB_NO_EXE_SPECIFIED for an application without a command,
// PMIX_ERR_UNREACH if there is no agent, otherwise the agents' status. In a
// server's own process the request goes to its host: the status is the host's,
// or PMIX_ERR_WOULD_BLOCK in the thread that would deliver its answer.
// `nspace`, of PMIX_MAX_NSLEN + 1 bytes, gets the name of the job, or "" on
// failure; it may be null.
int SpawnJob(Session& session, const SpawnRequest& request, char* nspace);

// Like SpawnJob, but does not block. Calls `cbfunc`, which must not be null, on
// the progress thread, unless it returns an error. The name that `cbfunc` gets
// is valid until it returns, and "" on failure.
int SpawnJobAsync(Session& session, const SpawnRequest& request,
                  pmix_spawn_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SPAWN_OP_H_
