// Manages the jobs of one overlay, at its root: launchers (clients of
// Control.Run) on one side, the core on the other.
#ifndef CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
#define CANOPY_SERVER_CONTROL_JOB_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <deque>
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
#include "server/control/launcher_stream.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_observer.h"

namespace canopy::control {

// Turns a launch request into a mapped job, or gives the reason in one line.
using JobPlanner = std::function<Result<std::shared_ptr<const JobSpec>>(
    const v1::Launch& launch)>;

// Persists what a successor needs so that a job's launcher can reattach.
class LaunchPersistence {
 public:
  virtual ~LaunchPersistence() = default;
  // False: it was not persisted.
  virtual bool PersistLaunch(const JobSpec& job, const std::string& token) = 0;
  // `end`: a JobEnd as bytes.
  virtual void PersistEnd(const std::string& nspace,
                          const std::string& end) = 0;
  virtual void DropControl(const std::string& nspace) = 0;
};

// What LaunchPersistence persisted.
struct PersistedJob {
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
  uint64_t launcher = 0;
  bool out_of_time = false;  // and its pending operations were collected
  std::string token;         // of its launcher; empty: it cannot reattach
  bool abandoned = false;    // its launcher is gone, so that it is being ended
  // Input that was consumed; none: known to a predecessor only.
  std::optional<uint64_t> input_done = 0;
};

// Loop thread only.
class JobManager : public JobObserver, public LauncherListener {
 public:
  JobManager(EventLoop* loop, JobPlanner planner);

  // The core's input; set once before the first call comes in.
  void set_sink(InputSink* sink) { sink_ = sink; }
  // From now on, launchers may reattach to a successor. They try for `grace_ms`
  // (0: only after an announced handover), and a successor awaits them for
  // `reattach_timeout_ms`.
  void set_persistence(LaunchPersistence* persistence, uint32_t grace_ms,
                       uint32_t reattach_timeout_ms);
  // Recovers the predecessor's jobs; before the core's JobRecovered.
  void Recover(const std::vector<PersistedJob>& jobs);
  // Jobs whose launchers cannot reattach, which end with this agent.
  size_t num_bound() const;
  // Announces a handover to the launchers.
  void AnnounceHandover(uint32_t ms);

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

  uint64_t NewLauncher() override { return next_launcher_++; }
  void OnLauncher(uint64_t id, LauncherStream* launcher) override;
  void OnRequest(uint64_t id, v1::RunRequest request) override;
  void OnGone(uint64_t id) override;

 private:
  struct LauncherState {
    LauncherStream* stream = nullptr;
    std::string nspace;  // of its job, empty before
    std::string ended;   // of its job, when its end was sent
    // Output sent and not yet consumed, in order, so that credit goes to the
    // node whose rank wrote it.
    std::deque<std::pair<Rank, uint64_t>> unconsumed;
  };
  struct Collection {
    std::vector<core::StateCollected> answers;
    StateDone done;
  };

  // A job that has ended, whose launcher may not know it yet.
  struct Ended {
    std::string nspace;
    v1::JobEnd end;
  };

  void Launch(uint64_t id, LauncherState* launcher, const v1::Launch& launch);
  void Reattach(uint64_t id, LauncherState* launcher,
                const v1::Reattach& reattach);
  void ReattachTo(uint64_t id, LauncherState* launcher,
                  const std::string& nspace, const v1::Reattach& reattach);
  void SendMapped(LauncherState* launcher, const JobSpec& job);
  void Offer(const std::string& nspace, v1::Input* input);
  // Its launcher is gone and the job is to end.
  void Abandon(const std::string& nspace);
  // The launcher has not reattached in time.
  void OnReattachTimeout(const std::string& token);
  void Refuse(LauncherState* launcher, const Status& status);
  void Consume(LauncherState* launcher, uint64_t bytes);
  LauncherState* LauncherOf(const std::string& nspace);
  void EndOutOfTime(const std::string& nspace);
  void SendNotes(LauncherState* launcher, const core::JobChanged& change);
  void SendProgress(LauncherState* launcher, const core::JobChanged& change);
  void SendEnd(LauncherState* launcher, const std::string& nspace,
               const v1::JobEnd& end);

  EventLoop* const loop_;
  const JobPlanner planner_;
  InputSink* sink_ = nullptr;
  std::atomic<uint64_t> next_launcher_{1};
  std::map<uint64_t, LauncherState> launchers_;
  std::map<std::string, JobRecord> jobs_;
  LaunchPersistence* persistence_ = nullptr;
  uint32_t grace_ms_ = 0;
  uint32_t reattach_timeout_ms_ = 0;
  std::map<std::string, Ended> ended_;  // by token
  std::map<uint64_t, Collection> collections_;
  uint64_t next_collection_ = 1;
  std::vector<std::function<void()>> when_idle_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
