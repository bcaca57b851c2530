// PMIx_Connect, PMIx_Disconnect and their non-blocking forms on a session.
#ifndef CANOPY_CLIENT_SESSION_CONNECT_OP_H_
#define CANOPY_CLIENT_SESSION_CONNECT_OP_H_

#include <cstddef>

#include "client/session/collective_request.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// The processes and the directives of a call. The caller owns the arrays, which
// are not used after the call.
struct ConnectRequest {
  local::CollectiveOp operation;  // kConnect or kDisconnect
  const pmix_proc_t* procs = nullptr;
  size_t nprocs = 0;
  const pmix_info_t* info = nullptr;
  size_t ninfo = 0;
};

// Waits for all of `procs`. Errors: PMIX_ERR_BAD_PARAM if `procs` is empty or
// the caller is not among the processes to connect; PMIX_ERR_INVALID_OPERATION
// if the caller is in the same collective already, or is not among the
// processes to disconnect, or is not connected with them; PMIX_ERR_UNREACH if
// there is no agent.
int ConnectProcs(Session& session, const ConnectRequest& request);

// The non-blocking form. Calls `cbfunc` on the progress thread, unless it
// returns an error.
int ConnectProcsAsync(Session& session, const ConnectRequest& request,
                      pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_CONNECT_OP_H_
