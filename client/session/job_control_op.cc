#include "client/session/job_control_op.h"

#include "client/session/host_call.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

int MakeCall(const JobControlRequest& request, HostCall* call) {
  if ((request.targets == nullptr && request.ntargets > 0) ||
      request.directives == nullptr || request.ndirs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  call->op = HostOp::kJobControl;
  call->targets = {request.targets, request.ntargets};
  return EncodeInfos(request.directives, request.ndirs, &call->call);
}

}  // namespace

int ControlJob(Session& session, const JobControlRequest& request,
               pmix_info_t** results, size_t* nresults) {
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  HostCall call;
  const int rc = MakeCall(request, &call);
  if (rc != PMIX_SUCCESS) return rc;
  InfoList infos;
  const int status = CallHost(session, call, &infos);
  if (results != nullptr && nresults != nullptr) {
    *results = infos.Release(nresults);
  }
  return status;
}

int ControlJobAsync(Session& session, const JobControlRequest& request,
                    pmix_info_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeCall(request, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, InfoList results) {
    // The list is valid until the callback returns.
    cbfunc(status, results.mutable_data(), results.size(), cbdata, nullptr,
           nullptr);
  });
}

}  // namespace canopy::client
