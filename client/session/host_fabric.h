// PMIx_Fabric_register and PMIx_Fabric_update on a session: the host answers,
// and if it does not support them, this library inspects the node
// (client/topology/fabric_op.h).
#ifndef CANOPY_CLIENT_SESSION_HOST_FABRIC_H_
#define CANOPY_CLIENT_SESSION_HOST_FABRIC_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Return the PMIx status of the host, or of RegisterFabric and UpdateFabric;
// PMIX_ERR_BAD_PARAM for a null array of directives. A process that runs a
// server inspects the node itself, because the host's function may call these
// functions.
int RegisterFabric(Session& session, pmix_fabric_t* fabric,
                   const pmix_info_t* directives, size_t ndirs);
int UpdateFabric(Session& session, pmix_fabric_t* fabric);

// On success the callback runs once, on the progress thread. The fabric and its
// contents must not be used until then.
int RegisterFabricAsync(Session& session, pmix_fabric_t* fabric,
                        const pmix_info_t* directives, size_t ndirs,
                        pmix_op_cbfunc_t cbfunc, void* cbdata);
int UpdateFabricAsync(Session& session, pmix_fabric_t* fabric,
                      pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOST_FABRIC_H_
