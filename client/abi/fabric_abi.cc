// C entry points for the fabrics of this node.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/host_fabric.h"
#include "client/topology/fabric_op.h"
#include "pmix.h"

using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Fabric_register(pmix_fabric_t* fabric,
                                   const pmix_info_t directives[],
                                   size_t ndirs) {
  return WithSession([&](Session& session) {
    return canopy::client::RegisterFabric(session, fabric, directives, ndirs);
  });
}

pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t* fabric,
                                      const pmix_info_t directives[],
                                      size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                      void* cbdata) {
  return WithSessionAsync([&](Session& session) -> pmix_status_t {
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    return canopy::client::RegisterFabricAsync(session, fabric, directives,
                                               ndirs, cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Fabric_update(pmix_fabric_t* fabric) {
  return WithSession([&](Session& session) {
    return canopy::client::UpdateFabric(session, fabric);
  });
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t* fabric,
                                    pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) -> pmix_status_t {
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    return canopy::client::UpdateFabricAsync(session, fabric, cbfunc, cbdata);
  });
}

// The host is not notified, because it has no function for that.
pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t* fabric) {
  return WithSession(
      [&](Session&) { return canopy::client::DeregisterFabric(fabric); });
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t* fabric,
                                        pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const pmix_status_t status = canopy::client::DeregisterFabric(fabric);
    if (status != PMIX_SUCCESS || cbfunc == nullptr) return status;
    session.progress().Post([cbfunc, cbdata] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  });
}

}  // extern "C"
