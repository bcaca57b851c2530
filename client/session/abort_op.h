// PMIx_Abort on a session.
#ifndef CANOPY_CLIENT_SESSION_ABORT_OP_H_
#define CANOPY_CLIENT_SESSION_ABORT_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Requests the end of `procs`. Does not return if the caller is among them and
// the agent ends the caller within half a minute. `message` may be null.
int Abort(Session& session, int status, const char* message,
          const pmix_proc_t* procs, size_t nprocs);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_ABORT_OP_H_
