#include "client/session/fence_op.h"

#include <cstdint>
#include <mutex>
#include <optional>
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
// How often one of those who wait in shared memory looks whether the agent
// lives.
constexpr int64_t kLookAroundNs = 200'000'000;
constexpr int64_t kLookSeldomNs = 2'000'000'000;

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

// A singleton has no other participants.
int FenceAlone(const Session& session, const pmix_proc_t* procs,
               size_t nprocs) {
  for (size_t i = 0; i < nprocs; ++i) {
    if (NspaceOf(procs[i]) != session.self().nspace) return PMIX_ERR_UNREACH;
  }
  return PMIX_SUCCESS;
}

int Check(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo, FenceOptions* options) {
  const int rc = CheckParticipants(session, procs, nprocs);
  return rc == PMIX_SUCCESS ? ParseOptions(info, ninfo, options) : rc;
}

bool IsWholeJob(const Session& session, const pmix_proc_t* procs,
                size_t nprocs) {
  for (size_t i = 0; i < nprocs; ++i) {
    if (procs[i].rank != PMIX_RANK_WILDCARD ||
        NspaceOf(procs[i]) != session.self().nspace) {
      return false;
    }
  }
  return true;
}

// Counts a fence over the whole job in its session; null: does nothing.
class FenceCount {
 public:
  explicit FenceCount(Session* session)
      : session_(session),
        only_one_(session != nullptr && session->BeginFence()) {}
  ~FenceCount() {
    if (session_ != nullptr) session_->EndFence();
  }
  FenceCount(const FenceCount&) = delete;
  FenceCount& operator=(const FenceCount&) = delete;

  bool only_one() const { return only_one_; }
  Session* session() const { return session_; }
  // Another participant completes it.
  void Keep() { session_ = nullptr; }

 private:
  Session* session_;
  const bool only_one_;
};

int AwaitBarrier(Session& session,
                 const shm::BarrierParticipant::Ticket& ticket) {
  shm::BarrierParticipant& barrier = *session.barrier();
  int64_t patience = ticket.watch ? kLookAroundNs : shm::BarrierView::kForever;
  // Should the one that looks around end while there is no agent.
  if (!ticket.watch && session.MayReattach()) patience = kLookSeldomNs;
  int status = PMIX_SUCCESS;
  while (!barrier.Wait(ticket, patience, &status)) {
    Channel& channel = *session.channel();
    if (!channel.PeerIsGone() || !channel.ReadLast()) continue;
    barrier.GiveUp(ticket, session.MayReattach() ? shm::kBarrierAgain
                                                 : PMIX_ERR_LOST_CONNECTION);
  }
  return status;
}

// Fences in shared memory; nothing when that is not the way now.
std::optional<int> FenceAtBarrier(Session& session, bool collect) {
  std::lock_guard<std::mutex> lock(session.barrier_mutex());
  if (session.barrier() == nullptr) return std::nullopt;
  const uint64_t wants = (collect ? shm::kBarrierCollect : 0) |
                         (session.TakeCommitted() ? shm::kBarrierSync : 0);
  shm::BarrierParticipant::Ticket ticket;
  switch (session.barrier()->Arrive(wants, &ticket)) {
    case shm::BarrierParticipant::Arrival::kReleased:
      session.counts().AddWhole();
      return PMIX_SUCCESS;
    case shm::BarrierParticipant::Arrival::kClosed:
      return std::nullopt;
    case shm::BarrierParticipant::Arrival::kNotify:
      (void)session.channel()->Post(local::FrameType::kBarrierFull, {});
      break;
    case shm::BarrierParticipant::Arrival::kWait:
      break;
  }
  const int status = AwaitBarrier(session, ticket);
  if (status == shm::kBarrierAgain) return std::nullopt;
  session.counts().AddWhole();
  return status;
}

}  // namespace

int Fence(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo) {
  FenceOptions options;
  int rc = Check(session, procs, nprocs, info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return FenceAlone(session, procs, nprocs);
  const bool whole_job = IsWholeJob(session, procs, nprocs);
  FenceCount count(whole_job ? &session : nullptr);
  if (count.only_one() && options.timeout_ms == 0) {
    const std::optional<int> end = FenceAtBarrier(session, options.collect);
    if (end) return *end;
  }
  std::string frame;
  rc = EncodeFrame(procs, nprocs, info, ninfo, options, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  return session.channel()->Call(local::FrameType::kCollective, frame).status;
}

int FenceAsync(Session& session, const pmix_proc_t* procs, size_t nprocs,
               const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
               void* cbdata) {
  if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
  FenceOptions options;
  int rc = Check(session, procs, nprocs, info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) {
    rc = FenceAlone(session, procs, nprocs);
    if (rc != PMIX_SUCCESS) return rc;
    session.progress().Post([=] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  }
  std::string frame;
  rc = EncodeFrame(procs, nprocs, info, ninfo, options, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  FenceCount count(IsWholeJob(session, procs, nprocs) ? &session : nullptr);
  rc = session.channel()->CallAsync(
      local::FrameType::kCollective, frame,
      [=, counted = count.session()](const Reply& reply) {
        if (counted != nullptr) counted->EndFence();
        cbfunc(reply.status, cbdata);
      });
  if (rc == PMIX_SUCCESS) count.Keep();
  return rc;
}

}  // namespace canopy::client
