// C entry points that a scheduler serves: allocations, sessions and blocks of
// resources.

#include <cstddef>
#include <cstdint>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/resource_op.h"
#include "pmix.h"

using canopy::client::BlockRequest;
using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive,
                                      pmix_info_t* info, size_t ninfo,
                                      pmix_info_t** results, size_t* nresults) {
  return WithSession([&](Session& session) {
    return canopy::client::RequestAllocation(session, directive, {info, ninfo},
                                             results, nresults);
  });
}

pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive,
                                         pmix_info_t* info, size_t ninfo,
                                         pmix_info_cbfunc_t cbfunc,
                                         void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::RequestAllocationAsync(
        session, directive, {info, ninfo}, OrIgnore(cbfunc), cbdata);
  });
}

pmix_status_t PMIx_Session_control(uint32_t sessionID,
                                   const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_cbfunc_t cbfunc, void* cbdata) {
  const auto body = [&](Session& session) {
    return canopy::client::ControlSession(session, sessionID,
                                          {directives, ndirs}, cbfunc, cbdata);
  };
  return cbfunc == nullptr ? WithSession(body) : WithSessionAsync(body);
}

pmix_status_t PMIx_Resource_block(pmix_resource_block_directive_t directive,
                                  char* block, const pmix_resource_unit_t* res,
                                  size_t nres, const pmix_info_t* info,
                                  size_t ninfo) {
  return WithSession([&](Session& session) {
    const BlockRequest request{directive, block, res, nres, {info, ninfo}};
    return canopy::client::BlockResources(session, request);
  });
}

pmix_status_t PMIx_Resource_block_nb(pmix_resource_block_directive_t directive,
                                     char* block,
                                     const pmix_resource_unit_t* res,
                                     size_t nres, const pmix_info_t* info,
                                     size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                     void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const BlockRequest request{directive, block, res, nres, {info, ninfo}};
    return canopy::client::BlockResourcesAsync(session, request,
                                               OrIgnore(cbfunc), cbdata);
  });
}

}  // extern "C"
