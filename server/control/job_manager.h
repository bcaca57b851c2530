// Manages the jobs that an agent controls, between launchers (clients of
// Control.Run) and the core.
#ifndef CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
#define CANOPY_SERVER_CONTROL_JOB_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/families.h"
#include "server/control/family_recovery.h"
#include "server/control/host_additions.h"
#include "server/control/host_commands.h"
#include "server/control/job_notices.h"
#include "server/control/job_record.h"
#include "server/control/launch_pipeline.h"
#include "server/control/launcher.h"
#include "server/control/launcher_stream.h"
#include "server/control/placements.h"
#include "server/control/spawn_executor.h"
#include "server/control/spawn_requests.h"
#include "server/control/staging.h"
#include "server/control/start_watch.h"
#include "server/control/state_collector.h"
#include "server/control/timeout_reports.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_commands_port.h"
#include "server/ports/job_observer.h"

namespace canopy::control {

// Loop thread only.
class JobManager : public JobObserver, public LauncherListener {
 public:
  JobManager(EventLoop* loop, JobPlanner planner);

  // Sets the core's input. Called once, before all other functions.
  void set_sink(InputSink* sink);
  // Sets the host, which decides where and when jobs run. Called before the
  // first request.
  void set_placement(PlacementPort* port) { placements_.set_port(port); }
  // Lets launchers reattach to a successor from now on. They try for `grace_ms`
  // (0: only after an announced handover), and a successor waits for them for
  // `reattach_timeout_ms`.
  void set_persistence(LaunchPersistence* persistence, uint32_t grace_ms,
                       uint32_t reattach_timeout_ms);
  // Recovers the predecessor's jobs. Called before the core gets a
  // JobRecovered.
  void Recover(const std::vector<PersistedJob>& jobs);
  // Returns the number of jobs whose launchers cannot reattach. These jobs end
  // with this agent.
  size_t num_bound() const { return families_.num_bound(); }
  // Announces a handover of about `ms` milliseconds to the launchers.
  void AnnounceHandover(uint32_t ms);

  // Returns the jobs that this agent controls.
  const JobRecords& jobs() const { return families_.jobs(); }
  // Returns all jobs that this agent knows, as Families::known_jobs.
  const JobRecords& known_jobs() const { return families_.known_jobs(); }
  // Returns the jobs that wait for their placement.
  const Placements& queued() const { return placements_; }
  // Returns what the jobs of each user may have together.
  UserLimits limits() const { return pipeline_.limits(); }
  // Cancels a queued job. Returns false if no job of this name is queued.
  bool CancelQueued(const std::string& name, const std::string& reason);
  // Withdraws the queued jobs of launchers, which request them at the leader.
  // Called when another agent has become the leader. Jobs that processes have
  // requested stay queued here.
  void MoveQueued();
  // Ends every job. Calls `done` when the last job is gone, or at once if there
  // is none.
  void KillAll(const std::string& reason, std::function<void()> done);
  // Ends a job for `reason`, after `seconds` or, if these are 0, immediately. A
  // job that is ended later gets an event immediately. Has no effect on an
  // unknown job.
  void EndJob(const std::string& nspace, const std::string& reason,
              uint32_t seconds);
  // Sends the signal to all processes of a job, which another agent may
  // control.
  void SignalJob(const std::string& nspace, int signal);

  // Returns the operations of a scheduler on its jobs and on nodes.
  JobCommandsPort& commands() { return commands_; }

  // Requests the state of every agent; `done` receives the replies
  // (StateCollector::Collect).
  void CollectState(const std::string& what, const std::string& nspace,
                    StateCollector::Done done) {
    states_.Collect(what, nspace, std::move(done));
  }

  void OnJobChanged(const core::JobChanged& change) override;
  void OnSpawn(const core::HostSpawn& spawn) override;
  void OnOutput(const core::DeliverOutput& output) override;
  void OnOutputDelivered(const core::OutputDelivered& output) override;
  void OnInputConsumed(const core::InputConsumed& input) override;
  void OnStateCollected(const core::StateCollected& state) override {
    states_.OnCollected(state);
  }
  void OnJobElsewhere(const core::JobElsewhere& job) override {
    families_.OnJobElsewhere(job);
    placements_.SlotsFreed();
  }

  bool Leads() const override { return !planner_.leads || planner_.leads(); }
  uint64_t NewLauncher() override { return next_launcher_++; }
  void OnLauncher(uint64_t id, LauncherStream* launcher,
                  const Caller& caller) override;
  void OnRequest(uint64_t id, v1::RunRequest request) override;
  void OnGone(uint64_t id) override;

 private:
  // A launch, the request that it contains, and the user who makes it.
  struct Asked {
    v1::Launch launch;
    JobRequest request;
    Caller caller;
  };

  void Launch(uint64_t id, Launcher* launcher, v1::Launch launch);
  std::string NameFor(const v1::Launch& launch) const;
  static void OnRefused(Launcher* launcher, const Status& why);
  void OnWaits(QueuedJob* job);
  Status NameHosts(JobRequest* request) const;
  QueuedJob QueuedOf(uint64_t launcher, const Asked& asked) const;
  Status Begin(uint64_t id, const Asked& asked, Placed placed);
  void Start(uint64_t id, const Asked& asked, const Placed& placed,
             const std::shared_ptr<const JobSpec>& plan);
  bool OnOrderAnswer(uint64_t id, const v1::RunRequest& request);
  void OnRequestOfQueued(uint64_t id, Launcher* launcher,
                         v1::RunRequest request);
  // Called when the job has ended without having been launched.
  void OnNotLaunched(const std::string& nspace, const Status& status);
  void DropEnded(Launcher* launcher);
  void OnPreloadTaken(const std::string& nspace, uint64_t bytes);
  void Offer(const std::string& nspace, v1::Input* input);
  void RequeueIfLost(const core::JobChanged& change, JobRecord* record);
  void Report(const core::JobChanged& change, const JobRecord& record);
  void OnFailing(const core::JobChanged& change, const JobRecord& record);
  void OnEnded(const core::JobChanged& change);
  void PersistEnd(Family* family, const JobRecord& record,
                  const v1::JobEnd& end, bool ran);
  void Conclude(const Family& family);

  EventLoop* const loop_;
  const JobPlanner planner_;
  InputSink* sink_ = nullptr;  // `&staging_`, which forwards to the core
  std::atomic<uint64_t> next_launcher_{1};
  Families families_;
  Staging staging_;
  SpawnRequests requests_;
  Placements placements_;
  LaunchPipeline pipeline_;
  HostAdditions host_additions_;
  SpawnExecutor spawns_;
  FamilyRecovery recovery_;
  JobNotices notices_;
  StateCollector states_;
  TimeoutReports timeouts_;
  StartWatch start_watch_;
  HostCommands commands_;
  std::vector<std::function<void()>> when_idle_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
