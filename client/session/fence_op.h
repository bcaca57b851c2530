// PMIx_Fence and PMIx_Fence_nb on a session.
#ifndef CANOPY_CLIENT_SESSION_FENCE_OP_H_
#define CANOPY_CLIENT_SESSION_FENCE_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Blocks until all participants have arrived. A singleton has no other
// participants, so it succeeds alone, or gets PMIX_ERR_UNREACH for processes of
// other namespaces. PMIX_ERR_LOST_CONNECTION: the agent is gone and has no
// successor.
int Fence(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo);

// The non-blocking form. Calls `cbfunc`, which must not be null, on the
// progress thread, unless it returns an error.
int FenceAsync(Session& session, const pmix_proc_t* procs, size_t nprocs,
               const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
               void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_FENCE_OP_H_
