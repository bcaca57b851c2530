#include "client/session/resource_op.h"

#include <functional>
#include <string>
#include <utility>

#include "client/session/host_call.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

// Returns a PMIx status.
int Encode(const Directives& directives, std::string* out) {
  if (directives.infos == nullptr && directives.count > 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  return EncodeInfos(directives.infos, directives.count, out);
}

int MakeAllocation(pmix_alloc_directive_t directive,
                   const Directives& directives, HostCall* call) {
  std::string infos;
  if (directive == 0) return PMIX_ERR_BAD_PARAM;
  if (const int rc = Encode(directives, &infos); rc != PMIX_SUCCESS) return rc;
  call->op = HostOp::kAllocate;
  call->call = wire::Encode(host_call::Allocate{directive, infos});
  return PMIX_SUCCESS;
}

int MakeControl(uint32_t session_id, const Directives& directives,
                HostCall* call) {
  std::string infos;
  if (directives.count == 0) return PMIX_ERR_BAD_PARAM;
  if (const int rc = Encode(directives, &infos); rc != PMIX_SUCCESS) return rc;
  call->op = HostOp::kControlSession;
  call->call = wire::Encode(host_call::ControlSession{session_id, infos});
  return PMIX_SUCCESS;
}

int MakeBlock(const BlockRequest& request, HostCall* call) {
  std::string infos;
  const bool named = request.name != nullptr && request.name[0] != '\0';
  if (!named || (request.units == nullptr && request.nunits > 0)) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (const int rc = Encode(request.directives, &infos); rc != PMIX_SUCCESS) {
    return rc;
  }
  host_call::BlockResources block{request.directive, request.name, {}, infos};
  for (size_t i = 0; i < request.nunits; ++i) {
    block.units.push_back({request.units[i].type, request.units[i].count});
  }
  call->op = HostOp::kBlockResources;
  call->call = wire::Encode(block);
  return PMIX_SUCCESS;
}

// The list is valid until the callback returns.
std::function<void(int, InfoList)> Report(pmix_info_cbfunc_t cbfunc,
                                          void* cbdata) {
  return [=](int status, InfoList results) {
    cbfunc(status, results.mutable_data(), results.size(), cbdata, nullptr,
           nullptr);
  };
}

}  // namespace

int RequestAllocation(Session& session, pmix_alloc_directive_t directive,
                      const Directives& directives, pmix_info_t** results,
                      size_t* nresults) {
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  HostCall call;
  const int rc = MakeAllocation(directive, directives, &call);
  if (rc != PMIX_SUCCESS) return rc;
  InfoList infos;
  const int status = CallHost(session, call, &infos);
  if (results != nullptr && nresults != nullptr) {
    *results = infos.Release(nresults);
  }
  return status;
}

int RequestAllocationAsync(Session& session, pmix_alloc_directive_t directive,
                           const Directives& directives,
                           pmix_info_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeAllocation(directive, directives, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, Report(cbfunc, cbdata));
}

int ControlSession(Session& session, uint32_t session_id,
                   const Directives& directives, pmix_info_cbfunc_t cbfunc,
                   void* cbdata) {
  HostCall call;
  const int rc = MakeControl(session_id, directives, &call);
  if (rc != PMIX_SUCCESS) return rc;
  if (cbfunc != nullptr) {
    return CallHostAsync(session, call, Report(cbfunc, cbdata));
  }
  InfoList results;
  return CallHost(session, call, &results);
}

int BlockResources(Session& session, const BlockRequest& request) {
  HostCall call;
  const int rc = MakeBlock(request, &call);
  if (rc != PMIX_SUCCESS) return rc;
  InfoList results;
  return CallHost(session, call, &results);
}

int BlockResourcesAsync(Session& session, const BlockRequest& request,
                        pmix_op_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeBlock(request, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, const InfoList&) {
    cbfunc(status, cbdata);
  });
}

}  // namespace canopy::client
