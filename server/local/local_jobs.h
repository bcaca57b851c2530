// Jobs with ranks on this node, for the agent's Unix socket: the ranks'
// credentials, and the memory that they share with the agent.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_
#define CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/endpoint/local_processes.h"
#include "server/local/commit_mailboxes.h"
#include "server/local/fence_barrier.h"
#include "server/ports/fd_store_port.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

struct LocalRank {
  std::string token;
  uint32_t connections = 0;
};

struct LocalJob {
  // Created for the first client that may use the barrier. Null: fences are
  // messages.
  std::unique_ptr<FenceBarrier> barrier;
  // Created like the barrier. Null: commits are messages.
  std::unique_ptr<CommitMailboxes> mailboxes;
  bool mailboxes_closed = false;
};

// The barrier in the welcome of a rank.
struct BarrierOffer {
  uint64_t size = 0;  // 0: fences are messages
  uint32_t index = 0;
};

struct LocalJobsOptions {
  NodeId self = 0;
  int64_t watch_ns = 0;  // polling interval of barriers and mailboxes
  bool host_decides_fences = false;  // as in LocalOptions
  // As in LocalOptions; never empty.
  std::function<std::string(const ProcId& proc)> token;
  // As in LocalOptions; may be null.
  FdStorePort* fd_store = nullptr;
  // Called when a rank's mailbox is corrupted.
  std::function<void(const ProcId& proc)> on_corrupted;
};

// Loop thread only. The loop and the sink must outlive this object.
class LocalJobs {
 public:
  using Processes = endpoint::LocalProcesses<LocalJob, LocalRank>;
  using Job = Processes::Job;
  static constexpr char kMailboxesName[] = "commit-boxes";

  LocalJobs(EventLoop* loop, InputSink* sink, LocalJobsOptions options);
  ~LocalJobs();
  LocalJobs(const LocalJobs&) = delete;
  LocalJobs& operator=(const LocalJobs&) = delete;

  // Adds a job, with the mailboxes that were recovered for it.
  void Add(const core::RegisterJob& registration);
  void Drop(const std::string& nspace) { processes_.Drop(nspace); }
  // Provides the predecessor's mailboxes. Called before Add; an invalid
  // descriptor means that there are none.
  void RecoverMailboxes(const std::string& nspace, UniqueFd mailboxes);

  // Returns null for an unknown job. The job is valid until it is dropped.
  Job* Find(const std::string& nspace) { return processes_.Find(nspace); }
  Processes::Process* FindRank(const ProcId& proc) {
    return processes_.FindRank(proc);
  }
  bool HasJobOf(uint32_t uid) const { return processes_.HasJobOf(uid); }
  // Returns the number of ranks, on any node, of the jobs with ranks on this
  // node.
  size_t NumRanks() const;
  void SetPid(const ProcId& proc, int pid) { processes_.SetPid(proc, pid); }
  // Return null if the job is unknown or has no such memory.
  FenceBarrier* FindBarrier(const std::string& nspace);
  CommitMailboxes* FindMailboxes(const std::string& nspace);

  // Returns the barrier and the rank's place in it. A size of 0 means that
  // fences are messages.
  BarrierOffer OfferBarrier(const ProcId& proc, core::ClientId client);
  // Opens the mailbox with the index `index`. Returns the size of the
  // mailboxes' memory in bytes; 0 means that commits are messages.
  uint64_t OfferMailboxes(const std::string& nspace, uint32_t index);

  // Makes ranks send commits as messages from now on.
  void CloseMailboxes(const std::string& nspace);

  // Reports to the core the commits of the rank; with a wildcard, those of
  // every local rank.
  void TakeCommits(const ProcId& proc);

 private:
  void MakeBarrier(const std::string& nspace, Job* job);
  void MakeMailboxes(const std::string& nspace, Job* job, UniqueFd former);
  void Defer(std::function<void()> work) { loop_->Defer(std::move(work)); }
  void StartWatch();
  void Watch();

  EventLoop* const loop_;
  InputSink* const sink_;
  const LocalJobsOptions options_;
  Processes processes_;
  std::unordered_map<std::string, UniqueFd> recovered_mailboxes_;
  EventLoop::TimerId watch_timer_ = 0;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_
