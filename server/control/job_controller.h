// Control of the jobs of one overlay, at its root: callers of Run on one side,
// the core on the other.
#ifndef CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_
#define CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/run_caller.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"
#include "server/runtime/runtime.h"

namespace canopy::control {

// Turns a caller's wishes into a mapped job, or says in one line why not.
using JobPlanner = std::function<Result<std::shared_ptr<const JobSpec>>(
    const v1::Launch& launch)>;

// Keeps what the next agent of this node needs to go on with a job's caller.
class JobKeeper {
 public:
  virtual ~JobKeeper() = default;
  // False: it is not kept.
  virtual bool KeepLaunch(const JobSpec& job, const std::string& token) = 0;
  // `end`: a JobEnd as bytes.
  virtual void KeepEnd(const std::string& nspace, const std::string& end) = 0;
  virtual void DropControl(const std::string& nspace) = 0;
};

// What a JobKeeper kept.
struct KeptJob {
  std::shared_ptr<const JobSpec> job;
  std::string token;
  int64_t since = 0;               // EventLoop::Now() of the launch
  std::optional<std::string> end;  // when it is over
};

// What is known of one job while it lives.
struct JobRecord {
  std::shared_ptr<const JobSpec> job;
  core::JobPhase phase = core::JobPhase::kPreparing;
  uint32_t procs_ended = 0;
  int64_t since = 0;  // EventLoop::Now() of the launch
  uint64_t caller = 0;
  bool out_of_time = false;  // and what it waits for was asked
  std::string token;         // of its caller; empty: it can not attach
  bool abandoned = false;    // its caller went away, so that it ends
  // Input that was consumed; none: a former agent knew.
  std::optional<uint64_t> input_done = 0;
};

// Loop thread only.
class JobController : public JobObserver, public RunOwner {
 public:
  JobController(EventLoop* loop, JobPlanner planner);

  // The core's input; set once before the first call comes in.
  void set_sink(InputSink* sink) { sink_ = sink; }
  // From now on, callers may come back to the next agent of this node. They are
  // told to look for it for `grace_ms` (0: not unless one was announced), and
  // awaited for `patience_ms`.
  void set_keeper(JobKeeper* keeper, uint32_t grace_ms, uint32_t patience_ms);
  // What the former agent has kept; before the core hears of these jobs.
  void Recover(const std::vector<KeptJob>& jobs);
  // Jobs that end with this agent.
  size_t num_bound() const;
  // Another agent takes the place of this one.
  void SayAway(uint32_t ms);

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
  void OnOutputDelivered(const core::OutputDelivered& output) override;
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
    std::string ended;   // of its job, when it was told its end
    // Output sent and not yet consumed, in order, so that credit goes to the
    // node whose rank wrote it.
    std::deque<std::pair<Rank, uint64_t>> unconsumed;
  };
  struct Collection {
    std::vector<core::StateCollected> answers;
    StateDone done;
  };

  // A job that is over, whose caller may not know it yet.
  struct Ended {
    std::string nspace;
    v1::JobEnd end;
  };

  void Launch(uint64_t id, Caller* caller, const v1::Launch& launch);
  void Attach(uint64_t id, Caller* caller, const v1::Attach& attach);
  void AttachTo(uint64_t id, Caller* caller, const std::string& nspace,
                const v1::Attach& attach);
  void SendMapped(Caller* caller, const JobSpec& job);
  void Offer(const std::string& nspace, v1::Input* input);
  // Its caller will not come (back).
  void Abandon(const std::string& nspace);
  // Nobody has come back.
  void GiveUp(const std::string& token);
  void Refuse(Caller* caller, const Status& status);
  void Consume(Caller* caller, uint64_t bytes);
  Caller* CallerOf(const std::string& nspace);
  void SayWhatItWaitsFor(const std::string& nspace);
  void SendNotes(Caller* caller, const core::JobChanged& change);
  void SendProgress(Caller* caller, const core::JobChanged& change);
  void SendEnd(Caller* caller, const std::string& nspace,
               const v1::JobEnd& end);

  EventLoop* const loop_;
  const JobPlanner planner_;
  InputSink* sink_ = nullptr;
  std::atomic<uint64_t> next_caller_{1};
  std::map<uint64_t, Caller> callers_;
  std::map<std::string, JobRecord> jobs_;
  JobKeeper* keeper_ = nullptr;
  uint32_t grace_ms_ = 0;
  uint32_t patience_ms_ = 0;
  std::map<std::string, Ended> ended_;  // by token
  std::map<uint64_t, Collection> collections_;
  uint64_t next_collection_ = 1;
  std::vector<std::function<void()>> when_idle_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_CONTROLLER_H_
