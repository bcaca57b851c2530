#include "client/session/host_fabric.h"

#include <functional>
#include <string>
#include <utility>

#include "client/session/host_call.h"
#include "client/topology/fabric_op.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

// Completes the call with the host's answer, even if the host does not support
// the call.
using Finish = std::function<int(int status, InfoList told)>;

int MakeCall(pmix_fabric_operation_t operation, const InfoList& directives,
             HostCall* call) {
  std::string infos;
  const int rc = EncodeInfos(directives.data(), directives.size(), &infos);
  if (rc != PMIX_SUCCESS) return rc;
  call->op = HostOp::kFabric;
  call->call =
      wire::Encode(host_call::Fabric{static_cast<uint8_t>(operation), infos});
  return PMIX_SUCCESS;
}

int MakeRegistration(const pmix_fabric_t* fabric, const pmix_info_t* directives,
                     size_t ndirs, InfoList* copy, HostCall* call) {
  if (directives == nullptr && ndirs > 0) return PMIX_ERR_BAD_PARAM;
  const int rc = MayRegisterFabric(fabric);
  if (rc != PMIX_SUCCESS) return rc;
  *copy = InfoList::FromC(directives, ndirs);
  return MakeCall(PMIX_FABRIC_REQUEST_INFO, *copy, call);
}

int MakeUpdate(const pmix_fabric_t* fabric, HostCall* call) {
  InfoList name;
  const int rc = NameHostsFabric(fabric, &name);
  return rc == PMIX_SUCCESS ? MakeCall(PMIX_FABRIC_UPDATE_INFO, name, call)
                            : rc;
}

Finish Register(pmix_fabric_t* fabric, const InfoList& directives) {
  return [=](int status, InfoList told) {
    if (status == PMIX_ERR_NOT_SUPPORTED) {
      return RegisterFabric(fabric, directives.data(), directives.size());
    }
    if (status != PMIX_SUCCESS) return status;
    return RegisterHostsFabric(fabric, std::move(told));
  };
}

int Update(pmix_fabric_t* fabric, int status, InfoList told) {
  if (status != PMIX_SUCCESS) return status;
  return UpdateHostsFabric(fabric, std::move(told));
}

// Ends a non-blocking call that needed no answer of a host: returns an error,
// or reports success to the callback.
int Report(Session& session, int status, pmix_op_cbfunc_t cbfunc,
           void* cbdata) {
  if (status != PMIX_SUCCESS) return status;
  session.progress().Post([=] { cbfunc(PMIX_SUCCESS, cbdata); });
  return PMIX_SUCCESS;
}

}  // namespace

int RegisterFabric(Session& session, pmix_fabric_t* fabric,
                   const pmix_info_t* directives, size_t ndirs) {
  InfoList with;
  HostCall call;
  const int rc = MakeRegistration(fabric, directives, ndirs, &with, &call);
  if (rc != PMIX_SUCCESS) return rc;
  InfoList told;
  const int status =
      session.host() ? PMIX_ERR_NOT_SUPPORTED : CallHost(session, call, &told);
  return Register(fabric, with)(status, std::move(told));
}

int RegisterFabricAsync(Session& session, pmix_fabric_t* fabric,
                        const pmix_info_t* directives, size_t ndirs,
                        pmix_op_cbfunc_t cbfunc, void* cbdata) {
  InfoList with;
  HostCall call;
  int rc = MakeRegistration(fabric, directives, ndirs, &with, &call);
  if (rc != PMIX_SUCCESS) return rc;
  const Finish finish = Register(fabric, with);
  rc = session.host()
           ? PMIX_ERR_NOT_SUPPORTED
           : CallHostAsync(session, call, [=](int status, InfoList told) {
               cbfunc(finish(status, std::move(told)), cbdata);
             });
  if (rc != PMIX_ERR_NOT_SUPPORTED) return rc;
  return Report(session, finish(rc, {}), cbfunc, cbdata);
}

int UpdateFabric(Session& session, pmix_fabric_t* fabric) {
  HostCall call;
  const int rc = MakeUpdate(fabric, &call);
  if (rc == PMIX_ERR_NOT_SUPPORTED) return UpdateFabric(fabric);
  if (rc != PMIX_SUCCESS) return rc;
  InfoList told;
  const int status = CallHost(session, call, &told);
  return Update(fabric, status, std::move(told));
}

int UpdateFabricAsync(Session& session, pmix_fabric_t* fabric,
                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeUpdate(fabric, &call);
  if (rc == PMIX_ERR_NOT_SUPPORTED) {
    return Report(session, UpdateFabric(fabric), cbfunc, cbdata);
  }
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, InfoList told) {
    cbfunc(Update(fabric, status, std::move(told)), cbdata);
  });
}

}  // namespace canopy::client
