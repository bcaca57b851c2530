// PMIx_Fabric_register and PMIx_Fabric_update on a session: the host is asked,
// and where it has no say the node is looked at (client/topology/fabric_op.h).
#ifndef CANOPY_CLIENT_SESSION_HOST_FABRIC_H_
#define CANOPY_CLIENT_SESSION_HOST_FABRIC_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Return a PMIx status: the host's, or of RegisterFabric and UpdateFabric. A
// process that runs a server itself looks for itself, as the host's function
// may do by these. PMIX_ERR_BAD_PARAM for directives that are not there.
int RegisterFabric(Session& session, pmix_fabric_t* fabric,
                   const pmix_info_t* directives, size_t ndirs);
int UpdateFabric(Session& session, pmix_fabric_t* fabric);

// Without an error the callback runs once, on the progress thread; the fabric
// and what it has are not used by others until then.
int RegisterFabricAsync(Session& session, pmix_fabric_t* fabric,
                        const pmix_info_t* directives, size_t ndirs,
                        pmix_op_cbfunc_t cbfunc, void* cbdata);
int UpdateFabricAsync(Session& session, pmix_fabric_t* fabric,
                      pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOST_FABRIC_H_
