#include "client/session/job_control_op.h"

#include <string>

#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/values/memory.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

int EncodeRequest(const JobControlRequest& request, std::string* frame) {
  if ((request.targets == nullptr && request.ntargets > 0) ||
      request.directives == nullptr || request.ndirs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  std::string infos;
  const int rc = EncodeInfos(request.directives, request.ndirs, &infos);
  if (rc != PMIX_SUCCESS) return rc;
  WireWriter out;
  out.Uint(request.ntargets);
  for (size_t i = 0; i < request.ntargets; ++i) {
    out.String(NspaceOf(request.targets[i]));
    out.Uint(request.targets[i].rank);
  }
  out.String(infos);
  *frame = out.Take();
  return PMIX_SUCCESS;
}

}  // namespace

int ControlJob(Session& session, const JobControlRequest& request,
               pmix_info_t** results, size_t* nresults) {
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  std::string frame;
  const int rc = EncodeRequest(request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const Reply reply =
      session.channel()->Call(local::FrameType::kJobControl, frame);
  InfoList infos;
  if (results != nullptr && nresults != nullptr &&
      DecodeInfos(reply.payload, &infos)) {
    *results = infos.Release(nresults);
  }
  return reply.status;
}

int ControlJobAsync(Session& session, const JobControlRequest& request,
                    pmix_info_cbfunc_t cbfunc, void* cbdata) {
  std::string frame;
  const int rc = EncodeRequest(request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  return session.channel()->CallAsync(
      local::FrameType::kJobControl, frame, [=](const Reply& reply) {
        if (cbfunc == nullptr) return;
        InfoList infos;
        if (!DecodeInfos(reply.payload, &infos)) infos.Clear();
        // The list lives as long as the callback runs.
        cbfunc(reply.status, infos.mutable_data(), infos.size(), cbdata,
               nullptr, nullptr);
      });
}

}  // namespace canopy::client
