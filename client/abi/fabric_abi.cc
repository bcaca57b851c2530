// Data of the fabrics that this node is part of.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/topology/fabric_op.h"
#include "pmix.h"

using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

namespace {

// The work is this library's own, so it is done at once.
template <typename Work>
pmix_status_t CallBackAfter(const Work& work, pmix_op_cbfunc_t cbfunc,
                            void* cbdata) {
  return WithSessionAsync([&](Session& session) -> pmix_status_t {
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    const pmix_status_t status = work();
    if (status != PMIX_SUCCESS) return status;
    session.progress().Post([cbfunc, cbdata] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  });
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Fabric_register(pmix_fabric_t* fabric,
                                   const pmix_info_t directives[],
                                   size_t ndirs) {
  return WithSession([&](Session&) {
    return canopy::client::RegisterFabric(fabric, directives, ndirs);
  });
}

pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t* fabric,
                                      const pmix_info_t directives[],
                                      size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                      void* cbdata) {
  return CallBackAfter(
      [&] { return canopy::client::RegisterFabric(fabric, directives, ndirs); },
      cbfunc, cbdata);
}

pmix_status_t PMIx_Fabric_update(pmix_fabric_t* fabric) {
  return WithSession(
      [&](Session&) { return canopy::client::UpdateFabric(fabric); });
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t* fabric,
                                    pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return CallBackAfter([&] { return canopy::client::UpdateFabric(fabric); },
                       cbfunc, cbdata);
}

pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t* fabric) {
  return WithSession(
      [&](Session&) { return canopy::client::DeregisterFabric(fabric); });
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t* fabric,
                                        pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return CallBackAfter([&] { return canopy::client::DeregisterFabric(fabric); },
                       cbfunc, cbdata);
}

}  // extern "C"
