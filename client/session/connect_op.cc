#include "client/session/connect_op.h"

#include <string>

#include "client/session/target.h"

namespace canopy::client {
namespace {

// Checks and encodes a request. Unlike a fence, a connect needs a list of
// processes.
int EncodeRequest(Session& session, const ConnectRequest& request,
                  std::string* frame) {
  if (request.procs == nullptr || request.nprocs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  // A process can only disconnect a set that it belongs to.
  if (request.operation == local::CollectiveOp::kDisconnect &&
      !NamesCaller(session, {request.procs, request.nprocs})) {
    return PMIX_ERR_INVALID_OPERATION;
  }
  int rc = CheckParticipants(session, request.procs, request.nprocs);
  if (rc != PMIX_SUCCESS) return rc;
  CollectiveOptions options;
  const bool connects = request.operation == local::CollectiveOp::kConnect;
  rc = ParseCollectiveOptions(connects ? "PMIx_Connect" : "PMIx_Disconnect",
                              request.info, request.ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  return EncodeCollective(request.operation, {request.procs, request.nprocs},
                          {request.info, request.ninfo}, options, frame);
}

}  // namespace

int ConnectProcs(Session& session, const ConnectRequest& request) {
  std::string frame;
  const int rc = EncodeRequest(session, request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.job_channel()
      ->Call(local::FrameType::kCollective, frame)
      .status;
}

int ConnectProcsAsync(Session& session, const ConnectRequest& request,
                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  std::string frame;
  const int rc = EncodeRequest(session, request, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.job_channel()->CallAsync(
      local::FrameType::kCollective, frame,
      [=](const Reply& reply) { cbfunc(reply.status, cbdata); });
}

}  // namespace canopy::client
