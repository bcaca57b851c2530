// Tests a job manager between fakes of the core, launchers and records.
#ifndef CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_
#define CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/control_testing.h"
#include "server/control/job_manager.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {

class JobManagerTest : public testing::Test {
 protected:
  JobManagerTest() { Start(); }

  // Creates the job manager of a new agent.
  void Start() {
    JobPlanner planner;
    planner.new_name = [this] { return new_name_; };
    planner.launch = [this](const JobRequest&, const Caller& caller,
                            const Placed& placed) -> PlannedJob {
      if (launch_refusal_.code() != kSuccess) return launch_refusal_;
      auto job = Job(placed.name.empty() ? placed.id.request : placed.name);
      job->uid = caller.user.empty() ? uid_ : caller.uid;
      return PlannedJob(job);
    };
    planner.limits = [this] { return limits_; };
    planner.spawn = [this](const spawn::SpawnCall& call, const ProcId& spawner,
                           const Placed&) -> PlannedJob {
      if (refusal_.code() != kSuccess && num_spawned_ >= num_accepted_) {
        return refusal_;
      }
      auto job = Job("child" + std::to_string(++num_spawned_));
      job->parent = spawner;
      job->uid = uid_;
      job->apps[0].argv = {"./child", "a b"};
      separate_ = call.separate;
      return PlannedJob(job);
    };
    planner.name_hosts = [](const std::string& spawner, bool empty,
                            std::vector<Host>* hosts) {
      for (Host& host : *hosts) {
        if (host.name == "+n9") return Status(kErrNotFound, "no such node");
        if (host.name != "+e" || empty) host.name = "of " + spawner;
      }
      return Status();
    };
    manager_ = std::make_unique<JobManager>(&loop_, planner);
    manager_->set_sink(&sink_);
    manager_->set_placement(&placement_);
    manager_->set_persistence(&records_, 1000, 60000);
  }

  void Launch() {
    manager_->OnLauncher(kLauncher, &stream_, OwnUser());
    v1::RunRequest request;
    request.mutable_launch()->set_token("token");
    request.mutable_launch()->set_allow_run_as_root(true);
    manager_->OnRequest(kLauncher, request);
    Change("first", core::JobPhase::kRunning, 2);
  }
  void LaunchWithFiles() {
    manager_->OnLauncher(kLauncher, &stream_, OwnUser());
    v1::RunRequest request;
    request.mutable_launch()->set_token("token");
    request.mutable_launch()->set_allow_run_as_root(true);
    request.mutable_launch()->set_preloads(true);
    manager_->OnRequest(kLauncher, request);
  }
  void Spawn(const std::string& parent, uint64_t request) {
    manager_->OnSpawn({{parent, 1}, request, Bytes(CallBytes())});
  }
  // Launches "first", which spawns "child1" with PMIX_NOHUP and "child2".
  void LaunchWithOneToGoOn() {
    Launch();
    manager_->OnSpawn(
        {{"first", 1}, 5, Bytes(CallBytes(0, false, nullptr, true))});
    Change("child1", core::JobPhase::kRunning, 2);
    SpawnRunning("first", 6, "child2");
  }
  // Spawns "child1", with "child2" as its cospawned job.
  void SpawnTwo(uint32_t timeout = 0) {
    manager_->OnSpawn({{"first", 1}, 5, Bytes(CallBytes(timeout, true))});
  }
  // Spawns a job and reports that it runs.
  void SpawnRunning(const std::string& parent, uint64_t request,
                    const std::string& nspace) {
    Spawn(parent, request);
    Change(nspace, core::JobPhase::kRunning, 2);
    sink_.Take<core::SpawnDone>();
  }
  void Change(const std::string& nspace, core::JobPhase phase, uint32_t started,
              int status = kSuccess, int exit_code = 0) {
    core::JobChanged change;
    change.nspace = nspace;
    change.phase = phase;
    change.procs_started = started;
    change.status = status;
    change.exit_code = exit_code;
    manager_->OnJobChanged(change);
  }
  void Output(const std::string& nspace, Rank rank, size_t size) {
    manager_->OnOutput({nspace, rank, 2, Bytes(std::string(size, 'x'))});
  }
  void Reattach(v1::RunRequest request, Stream* stream) {
    request.mutable_reattach()->set_token("token");
    manager_->OnLauncher(kLauncher + 1, stream, OwnUser());
    manager_->OnRequest(kLauncher + 1, request);
  }
  std::set<std::string> Killed() {
    std::set<std::string> out;
    for (const auto& kill : sink_.Take<core::KillRequested>()) {
      out.insert(kill.nspace);
    }
    return out;
  }

  EventLoop loop_;
  RecordingSink sink_;
  Stream stream_;
  Records records_;
  FakePlacement placement_;
  uint32_t uid_ = geteuid();  // user of the jobs
  UserLimits limits_;
  Status launch_refusal_;
  Status refusal_;
  int num_accepted_ = 0;  // number of accepted spawns before a refusal
  int num_spawned_ = 0;
  std::string new_name_ = "first";
  bool separate_ = false;
  std::unique_ptr<JobManager> manager_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_
