#include "client/session/monitor_op.h"

#include <string>

#include "client/session/host_call.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

int MakeCall(const MonitorRequest& request, HostCall* call) {
  if (request.what == nullptr || !request.directives.ok()) {
    return PMIX_ERR_BAD_PARAM;
  }
  std::string what;
  std::string with;
  int rc = EncodeInfos(request.what, 1, &what);
  if (rc == PMIX_SUCCESS) {
    rc = EncodeInfos(request.directives.infos, request.directives.size, &with);
  }
  call->op = HostOp::kMonitor;
  call->call = wire::Encode(host_call::Monitor{what, request.error, with});
  return rc;
}

}  // namespace

int Monitor(Session& session, const MonitorRequest& request,
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

int MonitorAsync(Session& session, const MonitorRequest& request,
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

void SendHeartbeat(Session& session) {
  const InfoList what = {{PMIX_SEND_HEARTBEAT, Value()}};
  MonitorRequest request;
  request.what = what.data();
  // A heartbeat that cannot be sent needs no error, because the monitor detects
  // that it is missing.
  (void)MonitorAsync(
      session, request,
      [](pmix_status_t, pmix_info_t*, size_t, void*, pmix_release_cbfunc_t,
         void*) {},
      nullptr);
}

}  // namespace canopy::client
