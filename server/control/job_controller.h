// Control of the jobs of one overlay, at its root: callers of Run on one side,
// the core on the other.
#ifndef CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_
#define CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/run_caller.h"
#include "server/ports/ports.h"
#include "server/runtime/runtime.h"

namespace canopy::control {

// Turns a caller's wishes into a mapped job, or says in one line why not.
using JobPlanner = std::function<Result<std::shared_ptr<const JobSpec>>(
    const v1::Launch& launch)>;

// What is known of one job while it lives.
struct JobRecord {
  std::shared_ptr<const JobSpec> job;
  core::JobPhase phase = core::JobPhase::kPreparing;
  uint32_t procs_ended = 0;
  int64_t since = 0;  // EventLoop::Now() of the launch
  uint64_t caller = 0;
  bool out_of_time = false;  // and what it waits for was asked
};

// Loop thread only.
class JobController : public JobObserver, public RunOwner {
 public:
  JobController(EventLoop* loop, JobPlanner planner);

  // The core's input; set once before the first call comes in.
  void set_sink(InputSink* sink) { sink_ = sink; }

  const std::map<std::string, JobRecord>& jobs() const { return jobs_; }
  // Ends every job; `done` runs when the last is gone (at once when none is).
  void KillAll(const std::string& reason, std::function<void()> done);
  void SignalJob(const std::string& nspace, int signal);

  // Asks every agent for its state; `done` gets the answers by node.
  using StateDone =
      std::function<void(const std::vector<core::StateCollected>&)>;
  void CollectState(const std::string& what, const std::string& nspace,
                    StateDone done);

  void OnJobChanged(const core::JobChanged& change) override;
  void OnOutput(const core::DeliverOutput& output) override;
  void OnInputConsumed(const core::InputConsumed& input) override;
  void OnStateCollected(const core::StateCollected& state) override;

  uint64_t NewCaller() override { return next_caller_++; }
  void OnCaller(uint64_t id, RunCaller* caller) override;
  void OnRequest(uint64_t id, v1::RunRequest request) override;
  void OnGone(uint64_t id) override;

 private:
  struct Caller {
    RunCaller* stream = nullptr;
    std::string nspace;  // of its job, empty before
    // Output sent and not yet consumed, in order, so that credit goes to the
    // node whose rank wrote it.
    std::deque<std::pair<Rank, uint64_t>> unconsumed;
  };
  struct Collection {
    std::vector<core::StateCollected> answers;
    StateDone done;
  };

  void Launch(uint64_t id, Caller* caller, const v1::Launch& launch);
  void Refuse(Caller* caller, const Status& status);
  void Consume(Caller* caller, uint64_t bytes);
  Caller* CallerOf(const std::string& nspace);
  void SayWhatItWaitsFor(const std::string& nspace);
  void SendProgress(Caller* caller, const core::JobChanged& change);
  void SendEnd(Caller* caller, const core::JobChanged& change);

  EventLoop* const loop_;
  const JobPlanner planner_;
  InputSink* sink_ = nullptr;
  std::atomic<uint64_t> next_caller_{1};
  std::map<uint64_t, Caller> callers_;
  std::map<std::string, JobRecord> jobs_;
  std::map<uint64_t, Collection> collections_;
  uint64_t next_collection_ = 1;
  std::vector<std::function<void()>> when_idle_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_
