// A tool that has no server starts a launcher itself (chapter "Tools and
// Debuggers", "Indirect launch").
#ifndef CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_
#define CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_

#include "client/session/session.h"
#include "client/session/spawn_op.h"
#include "pmix.h"

namespace canopy::client {

// Whether PMIx_Spawn of this process starts a launcher here: it is a tool, and
// has had no server.
bool MustForkLauncher(Session& session);

// Starts the one process that `request` describes, with this one's environment
// and what the request adds, and attaches to the server that it tells of in a
// file (PMIX_LAUNCHER_RNDZ_FILE, of the request's choice if it sets that).
// `nspace` gets the launcher's name, by which this process knows the server as
// well. PMIX_DEBUG_STOP_IN_INIT and PMIX_LAUNCH_DIRECTIVES are given to it
// (launcher_orders.h). The launcher sees by PMIX_KEEPALIVE_PIPE when this
// session is over, unless PMIX_NOHUP is given. Blocks until then, or for
// PMIX_TIMEOUT or PMIX_SPAWN_TIMEOUT (a minute).
//
// PMIX_ERR_OUT_OF_RESOURCE: the directives are too long for the environment;
// PMIX_ERR_NOT_SUPPORTED: more than one process, or a directive that is not
// honoured. PMIX_FWD_* and PMIX_IOF_* are ignored unless they are required: the
// launcher has the standard streams of this process.
// PMIX_ERR_JOB_EXE_NOT_FOUND, PMIX_ERR_JOB_APP_NOT_EXECUTABLE,
// PMIX_ERR_JOB_WDIR_NOT_FOUND; PMIX_ERR_JOB_FAILED_TO_LAUNCH: it has ended, or
// is no launcher; PMIX_ERR_TIMEOUT.
int ForkLauncher(Session& session, const SpawnRequest& request,
                 pmix_nspace_t nspace);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_
