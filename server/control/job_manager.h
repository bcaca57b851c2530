// Manages the jobs of one overlay, at its root: launchers (clients of
// Control.Run) on one side, the core on the other.
#ifndef CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
#define CANOPY_SERVER_CONTROL_JOB_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/family.h"
#include "server/control/job_notices.h"
#include "server/control/job_record.h"
#include "server/control/launcher.h"
#include "server/control/launcher_stream.h"
#include "server/control/preload.h"
#include "server/control/spawn_requests.h"
#include "server/control/staging.h"
#include "server/control/state_collector.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_observer.h"

namespace canopy::control {

// Loop thread only.
class JobManager : public JobObserver, public LauncherListener {
 public:
  JobManager(EventLoop* loop, JobPlanner planner);

  // The core's input; set once before the first call comes in.
  void set_sink(InputSink* sink);
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

  const JobRecords& jobs() const { return jobs_; }
  // Ends every job; `done` runs when the last is gone (at once when none is).
  void KillAll(const std::string& reason, std::function<void()> done);
  void SignalJob(const std::string& nspace, int signal);

  // Asks every agent for its state; `done` gets the answers by node.
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

  uint64_t NewLauncher() override { return next_launcher_++; }
  void OnLauncher(uint64_t id, LauncherStream* launcher) override;
  void OnRequest(uint64_t id, v1::RunRequest request) override;
  void OnGone(uint64_t id) override;

 private:
  // One of a request to spawn, before it is launched.
  struct SpawnedJob {
    std::string nspace;
    Preload preload;
  };
  // A family that has ended, whose launcher may not know it yet.
  struct Ended {
    std::vector<std::string> jobs;  // whose records are left
    v1::JobEnd end;
  };
  using FamilyEntry = std::map<uint64_t, Family>::iterator;

  void Launch(uint64_t id, Launcher* launcher, const v1::Launch& launch);
  FamilyEntry MakeFamily(const std::string& first);
  JobRecord& AddJob(FamilyEntry family, std::shared_ptr<const JobSpec> job,
                    const LaunchFacts& facts);
  Status Spawn(const core::HostSpawn& spawn);
  Status AddSpawned(const core::HostSpawn& spawn, const spawn::SpawnCall& call,
                    std::vector<SpawnedJob>* jobs);
  void ForgetSpawned(const std::string& nspace);
  void LaunchSpawned(const SpawnedJob& job, const spawn::SpawnCall& call);
  // `nspace`: a job of the spawner's family that is still there.
  void NoticeRefusal(const std::string& nspace, const ProcId& spawner,
                     const Status& status);
  void Begin(JobRecord* record, const Preload& preload, bool check_only);
  Status Start(const JobRecord& record, bool check_only);
  void OnFilesCopied(const std::string& nspace, Status status);
  void OnPreloadTaken(const std::string& nspace, uint64_t bytes);
  void RecoverFamily(const std::string& token,
                     const std::vector<const PersistedJob*>& jobs);
  void RecoverJob(const PersistedJob& persisted, FamilyEntry family);
  void Reattach(uint64_t id, Launcher* launcher, const v1::Reattach& reattach);
  void ReattachTo(uint64_t id, Launcher* launcher, FamilyEntry family,
                  const v1::Reattach& reattach);
  void ReleaseSpawns(Family* family);
  void ReattachOutput(Launcher* launcher, const Family& family,
                      const std::string& nspace, const v1::Reattach& reattach);
  void Notice(const std::string& nspace, const std::string& text);
  void SendMapped(Launcher* launcher, v1::RunEvent event);
  void Offer(const std::string& nspace, v1::Input* input);
  void Kill(const Family& family, core::KillRequested kill);
  // Its launcher is gone and the family is to end.
  void Abandon(Family* family);
  // The launcher has not reattached in time.
  void OnReattachTimeout(const std::string& token);
  void AwaitLauncher(const std::string& token);
  Family* FamilyOf(const std::string& nspace);
  Launcher* LauncherOf(const std::string& nspace);
  void Report(const core::JobChanged& change);
  void OnFailing(const core::JobChanged& change);
  void EndTogether(const JobSpec& failed, bool with_parent);
  void OnEnded(const core::JobChanged& change);
  void OnSpawnStarted(const std::string& nspace);
  void PersistEnd(Family* family, const JobRecord& record,
                  const v1::JobEnd& end, bool ran);
  void Conclude(FamilyEntry family);

  EventLoop* const loop_;
  const JobPlanner planner_;
  InputSink* sink_ = nullptr;  // the core, behind `staging_`
  std::atomic<uint64_t> next_launcher_{1};
  std::map<uint64_t, Launcher> launchers_;
  JobRecords jobs_;
  std::map<uint64_t, Family> families_;
  uint64_t next_family_ = 1;
  Staging staging_;
  SpawnRequests spawns_;
  JobNotices notices_;
  StateCollector states_;
  LaunchPersistence* persistence_ = nullptr;
  uint32_t grace_ms_ = 0;
  uint32_t reattach_timeout_ms_ = 0;
  std::map<std::string, Ended> ended_;  // by token
  std::vector<std::function<void()>> when_idle_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MANAGER_H_
