// The jobs that have ranks on this node, as the agent's Unix socket knows them:
// how a rank proves who it is, and what the ranks share with the agent.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_
#define CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/local/commit_boxes.h"
#include "server/local/fence_gate.h"
#include "server/local/frames.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

struct LocalRank {
  std::string token;
  int pid = 0;
  uint32_t connections = 0;
};

struct LocalJob {
  uint32_t uid = 0;
  bool local_only = false;  // no rank runs elsewhere
  std::map<Rank, LocalRank> ranks;
  // From the first client that may use it. None: fences go by messages.
  std::unique_ptr<FenceGate> gate;
  // The same of commits.
  std::unique_ptr<CommitBoxes> boxes;
  bool boxes_closed = false;
};

struct LocalJobsOptions {
  NodeId self = 0;
  int64_t watch_ns = 0;  // how often gates and boxes are looked at
  // As in LocalOptions; never empty.
  std::function<std::string(const ProcId& proc)> token;
  // As in LocalOptions; may be empty.
  std::function<void(const std::string& nspace, UniqueFd boxes)> keep_boxes;
  // A rank has written nonsense into its box.
  std::function<void(const ProcId& proc)> on_spoiled;
};

// Loop thread only. The loop and the sink outlive it.
class LocalJobs {
 public:
  LocalJobs(EventLoop* loop, InputSink* sink, LocalJobsOptions options);
  ~LocalJobs();
  LocalJobs(const LocalJobs&) = delete;
  LocalJobs& operator=(const LocalJobs&) = delete;

  // Takes what Inherit was given of this job.
  void Add(const core::RegisterJob& registration);
  void Drop(const std::string& nspace) { jobs_.erase(nspace); }
  // The boxes of a former agent, before Add; an invalid descriptor: none.
  void Inherit(const std::string& nspace, UniqueFd boxes);

  // Null: there is none. Valid until the job is dropped.
  LocalJob* Find(const std::string& nspace);
  LocalRank* FindRank(const ProcId& proc);
  FenceGate* FindGate(const std::string& nspace);
  CommitBoxes* FindBoxes(const std::string& nspace);

  // The gate and the rank's place in it. Size 0: fences go by messages.
  GateOffer OfferGate(const ProcId& proc, core::ClientId client);
  // Bytes of the boxes' memory, once `index` may write to its own. 0: commits
  // go by messages.
  uint64_t OfferBoxes(const std::string& nspace, uint32_t index);

  // What ranks commit from now on are messages.
  void CloseBoxes(const std::string& nspace);

  // Tells the core what the rank, or with a wildcard every rank here, has
  // committed.
  void TakeCommits(const ProcId& proc);

 private:
  void MakeGate(const std::string& nspace, LocalJob* job);
  void MakeBoxes(const std::string& nspace, LocalJob* job, UniqueFd former);
  void Defer(std::function<void()> work) { loop_->Defer(std::move(work)); }
  void StartWatch();
  void Watch();

  EventLoop* const loop_;
  InputSink* const sink_;
  const LocalJobsOptions options_;
  std::unordered_map<std::string, LocalJob> jobs_;
  std::unordered_map<std::string, UniqueFd> inherited_;
  EventLoop::TimerId watch_timer_ = 0;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_JOBS_H_
