// A tool without a server starts a launcher itself (PMIx Standard, chapter
// "Tools and Debuggers", "Indirect launch").
#ifndef CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_
#define CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_

#include "client/session/session.h"
#include "client/session/spawn_op.h"
#include "pmix.h"

namespace canopy::client {

// Returns true if this process is a tool that has never had a server, so that
// its PMIx_Spawn must start a launcher.
bool MustForkLauncher(Session& session);

// Starts the one process that `request` describes, with this process's
// environment and the request's additions, and attaches to the server that it
// announces in a file (PMIX_LAUNCHER_RNDZ_FILE, which the request may set).
// `nspace` gets the launcher's name, which this process also uses for the
// server. PMIX_DEBUG_STOP_IN_INIT and PMIX_LAUNCH_DIRECTIVES are passed to the
// launcher (launcher_orders.h). The launcher detects by PMIX_KEEPALIVE_PIPE
// that this process has ended or finalised the library, unless PMIX_NOHUP is
// given. Blocks until the tool is attached, at most for PMIX_TIMEOUT or
// PMIX_SPAWN_TIMEOUT (by default a minute).
//
// PMIX_FWD_* and PMIX_IOF_* are ignored, because the launcher has the standard
// streams of this process, unless they are required and not false. Errors:
// PMIX_ERR_BAD_PARAM for wrong arguments; PMIX_ERR_JOB_NO_EXE_SPECIFIED;
// PMIX_ERR_OUT_OF_RESOURCE if the directives are too long for the environment
// or the process, its pipes or the directory of the file cannot be made;
// PMIX_ERR_NOT_SUPPORTED for more than one process, or a directive that is not
// honoured; PMIX_ERR_JOB_EXE_NOT_FOUND, PMIX_ERR_JOB_APP_NOT_EXECUTABLE,
// PMIX_ERR_JOB_WDIR_NOT_FOUND; PMIX_ERR_JOB_FAILED_TO_LAUNCH if the process has
// ended or is not a launcher; PMIX_ERR_TIMEOUT; otherwise the errors of
// AttachToServer.
int ForkLauncher(Session& session, const SpawnRequest& request,
                 pmix_nspace_t nspace);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_FORK_LAUNCHER_H_
