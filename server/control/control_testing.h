// Fakes of the objects around the control service: a launcher's stream, the
// records for a successor, jobs, and requests to spawn.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_TESTING_H_
#define CANOPY_SERVER_CONTROL_CONTROL_TESTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/job.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/control/launcher_stream.h"
#include "server/ports/placement_port.h"

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
  Status PersistLaunch(const JobSpec& job, const std::string& token,
                       const LaunchFacts& facts) override {
    jobs[job.nspace] = {std::make_shared<const JobSpec>(job),
                        token,
                        facts,
                        0,
                        std::nullopt,
                        ""};
    return Status();
  }
  void PersistFacts(const std::string& nspace,
                    const LaunchFacts& facts) override {
    if (jobs.contains(nspace)) jobs.at(nspace).facts = facts;
  }
  void PersistEnd(const std::string& nspace, const std::string& end) override {
    jobs.at(nspace).end = end;
  }
  void PersistOutput(const std::string& nspace,
                     const std::string& state) override {
    if (jobs.contains(nspace)) jobs.at(nspace).output = state;
  }
  void DropControl(const std::string& nspace) override { jobs.erase(nspace); }

  std::vector<PersistedJob> All() const {
    std::vector<PersistedJob> out;
    for (const auto& [nspace, job] : jobs) out.push_back(job);
    return out;
  }

  std::map<std::string, PersistedJob> jobs;
};

// A host that grants every placement at once, on every node. If `keeps` is set,
// it only records the requests.
class FakePlacement : public PlacementPort {
 public:
  void set_listener(PlacementListener* to) override { listener = to; }
  bool HeedsDirectives() const override { return keeps; }
  void Place(PlacementRequest request) override {
    asked.push_back(request);
    if (!keeps) listener->OnGranted(request.id, {});
  }
  void Cancel(const PlacementId& id) override { cancelled.push_back(id); }
  void Launched(const PlacedJob& job, bool again) override {
    launched.push_back(job);
    recovered = again;
  }
  void Changed(const std::string&, core::JobPhase phase, uint32_t) override {
    phases.push_back(phase);
  }
  void Suspended(const std::string& nspace, bool on) override {
    if (on) suspended.push_back(nspace);
  }
  void Released(const PlacedJob& job, const PlacedEnd& end) override {
    released.push_back(job);
    ends.push_back(end);
  }

  // Grants the newest request one slot on each node of Job().
  void Grant() {
    PlacementGrant grant;
    grant.host_job = "host job";
    grant.nodes = {{"n0", 1}, {"n1", 1}};
    listener->OnGranted(asked.back().id, grant);
  }

  bool keeps = false;
  PlacementListener* listener = nullptr;
  std::vector<PlacementRequest> asked;
  std::vector<PlacementId> cancelled;
  std::vector<PlacedJob> launched;
  bool recovered = false;
  std::vector<core::JobPhase> phases;
  std::vector<PlacedJob> released;
  std::vector<PlacedEnd> ends;
  std::vector<std::string> suspended;
};

// Returns a job of two processes on two nodes.
inline std::shared_ptr<JobSpec> Job(const std::string& nspace) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  job->apps.resize(1);
  job->nodes = {{"n0", {}, 0, 1}, {"n1", {}, 1, 1}};
  job->procs = {{0, 0, ""}, {1, 0, ""}};
  return job;
}

// Returns an encoded spawn request. `timeout` is the time in seconds within
// which the job must start, or 0. With `cospawn` there is a second application,
// which is designated to be cospawned. `required` is the key of an additional
// required attribute of the job.
inline std::string CallBytes(uint32_t timeout = 0, bool cospawn = false,
                             const char* required = nullptr,
                             bool nohup = false) {
  char program[] = "program";
  pmix_app_t app = {};
  app.cmd = program;
  app.maxprocs = 2;
  Encoder out;
  out.PutSize((timeout == 0 ? 0 : 1) + (required == nullptr ? 0 : 1) +
              (nohup ? 1 : 0));
  if (nohup) {
    out.PutString(PMIX_NOHUP);
    out.PutUint32(PMIX_INFO_REQD);
    out.PutValue(Value::Bool(true).raw());
  }
  if (required != nullptr) {
    out.PutString(required);
    out.PutUint32(PMIX_INFO_REQD);
    out.PutValue(Value::String("x").raw());
  }
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

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_TESTING_H_
