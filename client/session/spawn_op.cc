#include "client/session/spawn_op.h"

#include <cstring>
#include <string>

#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

using local::FrameType;

int CheckApp(const pmix_app_t& app) {
  if (app.cmd == nullptr || *app.cmd == '\0') {
    return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  }
  const InfoArray infos{app.info, app.ninfo};
  return app.maxprocs >= 0 && infos.ok() ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

int Check(const SpawnRequest& request) {
  if (!request.directives.ok() || request.apps.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  for (const pmix_app_t& app : request.apps) {
    const int rc = CheckApp(app);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int EncodeRequest(const SpawnRequest& request, std::string* frame) {
  const int rc = Check(request);
  if (rc != PMIX_SUCCESS) return rc;
  Encoder encoder;
  encoder.PutSize(request.directives.size);
  for (size_t i = 0; i < request.directives.size; ++i) {
    encoder.PutInfo(request.directives.infos[i]);
  }
  encoder.PutSize(request.apps.size());
  for (const pmix_app_t& app : request.apps) {
    encoder.PutElement(PMIX_APP, &app);
  }
  if (!encoder.ok()) return encoder.status().code();
  WireWriter out;
  out.String(encoder.Take());
  *frame = out.Take();
  return PMIX_SUCCESS;
}

// The name of the new job, or "".
int TakeName(const Reply& reply, pmix_nspace_t nspace) {
  nspace[0] = '\0';
  if (reply.status != PMIX_SUCCESS) return reply.status;
  if (reply.payload.empty() || reply.payload.size() > kMaxNspaceLen) {
    return PMIX_ERR_UNPACK_FAILURE;
  }
  memcpy(nspace, reply.payload.c_str(), reply.payload.size() + 1);
  return PMIX_SUCCESS;
}

}  // namespace

int SpawnJob(Session& session, const SpawnRequest& request, char* nspace) {
  pmix_nspace_t unwanted;
  if (nspace == nullptr) nspace = unwanted;
  nspace[0] = '\0';
  std::string frame;
  const int rc = EncodeRequest(request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  return TakeName(session.channel()->Call(FrameType::kSpawn, frame), nspace);
}

int SpawnJobAsync(Session& session, const SpawnRequest& request,
                  pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
  std::string frame;
  const int rc = EncodeRequest(request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.channel()->CallAsync(
      FrameType::kSpawn, frame, [=](const Reply& reply) {
        pmix_nspace_t nspace;
        const int status = TakeName(reply, nspace);
        cbfunc(status, nspace, cbdata);
      });
}

}  // namespace canopy::client
