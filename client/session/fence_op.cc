#include "client/session/fence_op.h"

#include <cstdint>
#include <optional>
#include <string>

#include "client/session/collective_request.h"
#include "client/session/job_fences.h"
#include "client/session/target.h"
#include "common/mutex.h"

namespace canopy::client {
namespace {

// Intervals at which ranks that wait in shared memory check that the agent is
// alive. The barrier chooses two ranks for the short one, so that a loss is
// detected soon without waking all ranks. The others check as well, in case
// these two end while there is no agent.
constexpr int64_t kWatchIntervalNs = 200'000'000;
constexpr int64_t kOthersIntervalNs = 2'000'000'000;

// Fences a singleton, which has no other participants.
int FenceAlone(const Session& session, const pmix_proc_t* procs,
               size_t nprocs) {
  for (size_t i = 0; i < nprocs; ++i) {
    if (NspaceOf(procs[i]) != session.self().nspace) return PMIX_ERR_UNREACH;
  }
  return PMIX_SUCCESS;
}

int Check(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo, CollectiveOptions* options) {
  const int rc = CheckParticipants(session, procs, nprocs);
  return rc == PMIX_SUCCESS
             ? ParseCollectiveOptions("PMIx_Fence", info, ninfo, options)
             : rc;
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

// Counts a fence over the whole job as in progress; does nothing for null.
class FenceCount {
 public:
  explicit FenceCount(JobFences* fences)
      : fences_(fences), only_one_(fences != nullptr && fences->Begin()) {}
  ~FenceCount() {
    if (fences_ != nullptr) fences_->End();
  }
  FenceCount(const FenceCount&) = delete;
  FenceCount& operator=(const FenceCount&) = delete;

  bool only_one() const { return only_one_; }
  JobFences* fences() const { return fences_; }
  // Leaves the call of End to the callback of the answer.
  void Keep() { fences_ = nullptr; }

 private:
  JobFences* fences_;
  const bool only_one_;
};

// Blocks until the barrier releases this rank, or until the agent is gone. The
// caller holds the mutex of the barrier.
int AwaitBarrier(Session& session, shm::BarrierParticipant& barrier,
                 const shm::BarrierParticipant::Ticket& ticket) {
  const AgentConnection& agent = session.agent();
  int64_t interval =
      ticket.watch ? kWatchIntervalNs : shm::BarrierView::kForever;
  // If agents can be replaced, there may be no agent that wakes the waiting
  // ranks.
  if (!ticket.watch && agent.MayReattach()) interval = kOthersIntervalNs;
  int status = PMIX_SUCCESS;
  while (!barrier.Wait(ticket, interval, &status)) {
    const ChannelRef channel = session.job_channel();
    // The agent's last frames may contain the release of this rank.
    if (!channel->PeerIsGone() || !channel->ReadLast()) continue;
    barrier.GiveUp(ticket, agent.MayReattach() ? shm::kBarrierAgain
                                               : PMIX_ERR_LOST_CONNECTION);
  }
  return status;
}

// Fences in shared memory. Returns no value if the fence must use messages.
std::optional<int> FenceAtBarrier(Session& session, bool collect) {
  JobFences& fences = session.fences();
  const MutexLock lock(fences.mutex());
  if (fences.barrier() == nullptr) return std::nullopt;
  const uint64_t wants =
      (collect ? shm::kBarrierCollect : 0) |
      (session.commits().TakeNoted() ? shm::kBarrierSync : 0);
  shm::BarrierParticipant::Ticket ticket;
  switch (fences.barrier()->Arrive(wants, &ticket)) {
    case shm::BarrierParticipant::Arrival::kReleased:
      fences.counts().AddWhole();
      return PMIX_SUCCESS;
    case shm::BarrierParticipant::Arrival::kClosed:
      return std::nullopt;
    case shm::BarrierParticipant::Arrival::kNotify:
      (void)session.job_channel()->Post(local::FrameType::kBarrierFull, {});
      break;
    case shm::BarrierParticipant::Arrival::kWait:
      break;
  }
  const int status = AwaitBarrier(session, *fences.barrier(), ticket);
  if (status == shm::kBarrierAgain) return std::nullopt;
  fences.counts().AddWhole();
  return status;
}

}  // namespace

int Fence(Session& session, const pmix_proc_t* procs, size_t nprocs,
          const pmix_info_t* info, size_t ninfo) {
  CollectiveOptions options;
  int rc = Check(session, procs, nprocs, info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  const bool whole_job = IsWholeJob(session, procs, nprocs);
  FenceCount count(whole_job ? &session.fences() : nullptr);
  if (count.only_one() && options.timeout_ms == 0) {
    const std::optional<int> end = FenceAtBarrier(session, options.collect);
    if (end) return *end;
  }
  if (session.job_channel() == nullptr) {
    return FenceAlone(session, procs, nprocs);
  }
  std::string frame;
  rc = EncodeCollective(local::CollectiveOp::kFence, {procs, nprocs},
                        {info, ninfo}, options, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  return session.job_channel()
      ->Call(local::FrameType::kCollective, frame)
      .status;
}

int FenceAsync(Session& session, const pmix_proc_t* procs, size_t nprocs,
               const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
               void* cbdata) {
  CollectiveOptions options;
  int rc = Check(session, procs, nprocs, info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) {
    rc = FenceAlone(session, procs, nprocs);
    if (rc != PMIX_SUCCESS) return rc;
    session.progress().Post([=] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  }
  std::string frame;
  rc = EncodeCollective(local::CollectiveOp::kFence, {procs, nprocs},
                        {info, ninfo}, options, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  // The fence is counted while it is in progress, because a blocking fence must
  // not overtake it in the barrier meanwhile.
  FenceCount count(IsWholeJob(session, procs, nprocs) ? &session.fences()
                                                      : nullptr);
  rc = session.job_channel()->CallAsync(
      local::FrameType::kCollective, frame,
      [=, counted = count.fences()](const Reply& reply) {
        if (counted != nullptr) counted->End();
        cbfunc(reply.status, cbdata);
      });
  // The callback of the answer calls End.
  if (rc == PMIX_SUCCESS) count.Keep();
  return rc;
}

}  // namespace canopy::client
