// A job manager between a core, launchers and records that are stand-ins.
#ifndef CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_
#define CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/control/job_manager.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {

inline constexpr uint64_t kLauncher = 1;

class Stream : public LauncherStream {
 public:
  void Send(v1::RunEvent event) override { events.push_back(std::move(event)); }
  void FinishWhenWritten() override { finished = true; }

  std::vector<v1::RunEvent> Of(v1::RunEvent::KindCase kind) const {
    std::vector<v1::RunEvent> out;
    for (const v1::RunEvent& event : events) {
      if (event.kind_case() == kind) out.push_back(event);
    }
    return out;
  }

  std::vector<v1::RunEvent> events;
  bool finished = false;
};

class Records : public LaunchPersistence {
 public:
  bool PersistLaunch(const JobSpec& job, const std::string& token,
                     const LaunchFacts& facts) override {
    jobs[job.nspace] = {std::make_shared<const JobSpec>(job), token, facts, 0,
                        std::nullopt};
    return true;
  }
  void PersistFacts(const std::string& nspace,
                    const LaunchFacts& facts) override {
    jobs.at(nspace).facts = facts;
  }
  void PersistEnd(const std::string& nspace, const std::string& end) override {
    jobs.at(nspace).end = end;
  }
  void DropControl(const std::string& nspace) override { jobs.erase(nspace); }

  std::vector<PersistedJob> All() const {
    std::vector<PersistedJob> out;
    for (const auto& [nspace, job] : jobs) out.push_back(job);
    return out;
  }

  std::map<std::string, PersistedJob> jobs;
};

// A job of two processes on two nodes.
inline std::shared_ptr<JobSpec> Job(const std::string& nspace) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  job->apps.resize(1);
  job->nodes = {{"n0", {}, 0, 1}, {"n1", {}, 1, 1}};
  job->procs = {{0, 0, ""}, {1, 0, ""}};
  return job;
}

// With so many seconds to start in; the second of two applications may be one
// that is designated to be cospawned.
inline std::string CallBytes(uint32_t timeout = 0, bool cospawn = false) {
  char program[] = "program";
  pmix_app_t app = {};
  app.cmd = program;
  app.maxprocs = 2;
  Encoder out;
  out.PutSize(timeout == 0 ? 0 : 1);
  if (timeout != 0) {
    out.PutString(PMIX_SPAWN_TIMEOUT);
    out.PutUint32(0);
    out.PutValue(Value::Uint32(timeout).raw());
  }
  out.PutSize(cospawn ? 2 : 1);
  out.PutElement(PMIX_APP, &app);
  if (!cospawn) return out.Take();
  InfoList infos;
  infos.Add(PMIX_COSPAWN_APP, Value::Bool(true));
  app.info = infos.mutable_data();
  app.ninfo = infos.size();
  out.PutElement(PMIX_APP, &app);
  return out.Take();
}

class JobManagerTest : public testing::Test {
 protected:
  JobManagerTest() { Start(); }

  // A control service as of a new agent.
  void Start() {
    JobPlanner planner;
    planner.launch = [](const v1::Launch&) { return PlannedJob(Job("first")); };
    planner.spawn = [this](const spawn::SpawnCall& call,
                           const ProcId& spawner) -> PlannedJob {
      if (refusal_.code() != kSuccess && num_spawned_ >= num_accepted_) {
        return refusal_;
      }
      auto job = Job("child" + std::to_string(++num_spawned_));
      job->parent = spawner;
      separate_ = call.separate;
      return PlannedJob(job);
    };
    manager_ = std::make_unique<JobManager>(&loop_, planner);
    manager_->set_sink(&sink_);
    manager_->set_persistence(&records_, 1000, 60000);
  }

  void Launch() {
    manager_->OnLauncher(kLauncher, &stream_);
    v1::RunRequest request;
    request.mutable_launch()->set_token("token");
    manager_->OnRequest(kLauncher, request);
    Change("first", core::JobPhase::kRunning, 2);
  }
  void LaunchWithFiles() {
    manager_->OnLauncher(kLauncher, &stream_);
    v1::RunRequest request;
    request.mutable_launch()->set_token("token");
    request.mutable_launch()->set_preloads(true);
    manager_->OnRequest(kLauncher, request);
  }
  void Spawn(const std::string& parent, uint64_t request) {
    manager_->OnSpawn({{parent, 1}, request, Bytes(CallBytes())});
  }
  // "child1", and "child2" beside it.
  void SpawnTwo(uint32_t timeout = 0) {
    manager_->OnSpawn({{"first", 1}, 5, Bytes(CallBytes(timeout, true))});
  }
  // One that runs.
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
    manager_->OnLauncher(kLauncher + 1, stream);
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
  Status refusal_;
  int num_accepted_ = 0;  // before a refusal
  int num_spawned_ = 0;
  bool separate_ = false;
  std::unique_ptr<JobManager> manager_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MANAGER_TESTING_H_
