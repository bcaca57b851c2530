// PMIx_Allocation_request, PMIx_Session_control and PMIx_Resource_block on a
// session. A scheduler decides them, if the host has one.
#ifndef CANOPY_CLIENT_SESSION_RESOURCE_OP_H_
#define CANOPY_CLIENT_SESSION_RESOURCE_OP_H_

#include <cstddef>
#include <cstdint>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// A null array with a count above 0 gives PMIX_ERR_BAD_PARAM at once.
struct Directives {
  const pmix_info_t* infos = nullptr;
  size_t count = 0;
};

struct BlockRequest {
  pmix_resource_block_directive_t directive = 0;
  const char* name = nullptr;
  const pmix_resource_unit_t* units = nullptr;
  size_t nunits = 0;
  Directives directives;
};

// Blocking calls return a PMIx status. A non-blocking call calls its callback,
// which must not be null, on the progress thread, unless it returns an error.

// Requests an allocation. `results` may be null; otherwise it gets the host's
// answer, which the caller owns.
int RequestAllocation(Session& session, pmix_alloc_directive_t directive,
                      const Directives& directives, pmix_info_t** results,
                      size_t* nresults);
int RequestAllocationAsync(Session& session, pmix_alloc_directive_t directive,
                           const Directives& directives,
                           pmix_info_cbfunc_t cbfunc, void* cbdata);

// Blocks if `cbfunc` is null.
int ControlSession(Session& session, uint32_t session_id,
                   const Directives& directives, pmix_info_cbfunc_t cbfunc,
                   void* cbdata);

// Defines, extends, removes or deletes a block of resources, as the directive
// of the request determines.
int BlockResources(Session& session, const BlockRequest& request);
int BlockResourcesAsync(Session& session, const BlockRequest& request,
                        pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_RESOURCE_OP_H_
