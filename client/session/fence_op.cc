#include "client/session/fence_op.h"

#include <string>

#include "client/session/directives.h"
#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

// core::CollectiveOp::kFence.
constexpr uint64_t kFenceOperation = 1;

struct FenceOptions {
  bool collect = false;
  uint32_t timeout_ms = 0;
};

int ParseOne(const pmix_info_t& info, FenceOptions* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_COLLECT_DATA) {
    out->collect = IsTrue(info);
    return PMIX_SUCCESS;
  }
  if (key == PMIX_TIMEOUT) return TimeoutOf(info, &out->timeout_ms);
  // Every agent derives the job's data from the same map, so all of it is
  // everywhere already.
  if (key == PMIX_COLLECT_GENERATED_JOB_INFO) return PMIX_SUCCESS;
  return IsRequired(info) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

int ParseOptions(const pmix_info_t* info, size_t ninfo, FenceOptions* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ninfo; ++i) {
    const int rc = ParseOne(info[i], out);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int EncodeFrame(const pmix_proc_t* procs, size_t nprocs,
                const pmix_info_t* info, size_t ninfo,
                const FenceOptions& options, std::string* frame) {
  std::string infos;
  if (ninfo > 0) {
    const int rc = EncodeInfos(info, ninfo, &infos);
    if (rc != PMIX_SUCCESS) return rc;
  }
  WireWriter out;
  out.Uint(kFenceOperation);
  out.Uint(nprocs);
  for (size_t i = 0; i < nprocs; ++i) {
    out.String(NspaceOf(procs[i]));
    out.Uint(procs[i].rank);
  }
  out.Bool(options.collect);
  out.Uint(options.timeout_ms);
  out.String(infos);
  *frame = out.Take();
  return PMIX_SUCCESS;
}

// A process without an agent can meet nobody but itself.
int FenceAlone(const Session& session, const pmix_proc_t* procs,
               size_t nprocs) {
  for (size_t i = 0; i < nprocs; ++i) {
    if (NspaceOf(procs[i]) != session.self().nspace) return PMIX_ERR_UNREACH;
  }
  return PMIX_SUCCESS;
}

int Prepare(Session& session, const pmix_proc_t* procs, size_t nprocs,
            const pmix_info_t* info, size_t ninfo, std::string* frame) {
  int rc = CheckParticipants(session, procs, nprocs);
  if (rc != PMIX_SUCCESS) return rc;
  FenceOptions options;
  rc = ParseOptions(info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return FenceAlone(session, procs, nprocs);
  return EncodeFrame(procs, nprocs, info, ninfo, options, frame);
}

}  // namespace

int Fence(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo) {
  std::string frame;
  const int rc = Prepare(session, procs, nprocs, info, ninfo, &frame);
  if (rc != PMIX_SUCCESS || session.channel() == nullptr) return rc;
  return session.channel()->Call(local::FrameType::kCollective, frame).status;
}

int FenceAsync(Session& session, const pmix_proc_t* procs, size_t nprocs,
               const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
               void* cbdata) {
  if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
  std::string frame;
  const int rc = Prepare(session, procs, nprocs, info, ninfo, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) {
    session.progress().Post([=] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  }
  return session.channel()->CallAsync(
      local::FrameType::kCollective, frame,
      [=](Reply reply) { cbfunc(reply.status, cbdata); });
}

}  // namespace canopy::client
