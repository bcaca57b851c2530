// Jobs that are spawned by processes of others.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/control/job_manager.h"
#include "server/control/launcher_events.h"

namespace canopy::control {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

LaunchFacts FactsOf(const spawn::SpawnCall& call, core::RequestId request,
                    const JobRecord& parent) {
  LaunchFacts facts;
  facts.oversubscribe = parent.facts.oversubscribe;
  facts.spawn_request = request;
  facts.separate = call.separate;
  facts.reports = call.reports;
  facts.tool = call.tool;
  if (call.spawn_timeout_seconds > 0) {
    facts.start_deadline =
        EventLoop::Now() + call.spawn_timeout_seconds * kSecond;
  }
  return facts;
}

// What the spawner asked the launcher to do.
void FillWishes(const spawn::SpawnCall& call, v1::JobMapped* mapped) {
  mapped->set_tag_output(call.policies.tag_output);
  mapped->set_timestamp_output(call.policies.timestamp_output);
  mapped->set_output_directory(call.policies.output_directory);
  mapped->set_output_file(call.policies.output_file);
  mapped->set_display_map(call.display_map);
  mapped->set_report_bindings(call.report_bindings);
}

std::string IgnoredText(const std::string& nspace,
                        const std::vector<std::string>& keys) {
  std::string text = "job " + nspace +
                     ": its spawner asked for what has no "
                     "effect here:";
  for (const std::string& key : keys) text += " " + key;
  return text;
}

// The earlier of two deadlines, of which 0 is none.
int64_t Earlier(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

}  // namespace

void JobManager::OnSpawn(const core::HostSpawn& spawn) {
  Family* const family = FamilyOf(spawn.proc.nspace);
  if (family != nullptr && !family->token.empty() &&
      LauncherOf(spawn.proc.nspace) == nullptr) {
    family->held_spawns.push_back(spawn);
    return;
  }
  const Status status = Spawn(spawn);
  if (status.ok()) return;
  spawns_.Refuse(spawn, status);
  NoticeRefusal(spawn.proc.nspace, spawn.proc, status);
}

void JobManager::NoticeRefusal(const std::string& nspace, const ProcId& spawner,
                               const Status& status) {
  Notice(nspace, "job " + spawner.nspace + ": rank " +
                     std::to_string(spawner.rank) +
                     " cannot spawn: " + status.message());
}

Status JobManager::Spawn(const core::HostSpawn& spawn) {
  const auto parent = jobs_.find(spawn.proc.nspace);
  if (parent == jobs_.end() ||
      parent->second.phase == core::JobPhase::kEnding ||
      families_.at(parent->second.family).abandoned) {
    return Status(kErrJobCanceled, "its job is being ended");
  }
  Result<spawn::SpawnCall> call = spawn::ParseSpawnCall(spawn.call.view());
  if (!call.ok()) return call.status();
  std::vector<SpawnedJob> jobs;
  Status status = AddSpawned(spawn, *call, &jobs);
  if (status.ok() && call->cospawned) {
    status = AddSpawned(spawn, *call->cospawned, &jobs);
  }
  std::vector<std::string> names;
  for (const SpawnedJob& job : jobs) names.push_back(job.nspace);
  if (!status.ok()) {
    for (const std::string& nspace : names) ForgetSpawned(nspace);
    return status;
  }
  spawns_.Begin(spawn, names, jobs_.at(names[0]).facts.start_deadline);
  LaunchSpawned(jobs[0], *call);
  if (call->cospawned) LaunchSpawned(jobs[1], *call->cospawned);
  return Status();
}

// The next job of the request, planned with those before it in their places.
Status JobManager::AddSpawned(const core::HostSpawn& spawn,
                              const spawn::SpawnCall& call,
                              std::vector<SpawnedJob>* jobs) {
  PlannedJob plan = planner_.spawn(call, spawn.proc);
  if (!plan.ok()) return plan.status();
  const JobRecord& parent = jobs_.at(spawn.proc.nspace);
  Result<Preload> preload =
      PreloadOf(call, **plan, *parent.job, spawn.proc.rank);
  if (!preload.ok()) return preload.status();
  const auto job =
      std::make_shared<const JobSpec>(WithCopies(**plan, *preload));
  LaunchFacts facts = FactsOf(call, spawn.request, parent);
  if (!jobs->empty()) {
    const std::string& first = jobs->front().nspace;
    LaunchFacts& main = jobs_.at(first).facts;
    facts.cospawned = true;
    facts.partner = first;
    facts.start_deadline = Earlier(facts.start_deadline, main.start_deadline);
    main.start_deadline = facts.start_deadline;
    main.partner = job->nspace;
  }
  jobs->push_back({job->nspace, *std::move(preload)});
  const FamilyEntry family = families_.find(parent.family);
  AddJob(family, job, facts).token = family->second.token;
  return Status();
}

// One that was not begun.
void JobManager::ForgetSpawned(const std::string& nspace) {
  Family& family = families_.at(jobs_.extract(nspace).mapped().family);
  family.OnEnded(nspace, v1::JobEnd());
}

void JobManager::LaunchSpawned(const SpawnedJob& job,
                               const spawn::SpawnCall& call) {
  JobRecord& record = jobs_.at(job.nspace);
  if (Launcher* const launcher = LauncherOf(job.nspace)) {
    v1::RunEvent event = MappedEvent(*record.job);
    FillWishes(call, event.mutable_mapped());
    SendMapped(launcher, std::move(event));
    if (!call.ignored.empty()) {
      Notice(job.nspace, IgnoredText(job.nspace, call.ignored));
    }
  }
  const std::string& partner = record.facts.partner;
  if (record.facts.cospawned && !jobs_.contains(partner)) {
    return OnFilesCopied(
        job.nspace, Status(kErrJobCanceled, "job " + partner + " has ended"));
  }
  Begin(&record, job.preload, false);
}

// A successor must not hold it against the time that it had to start, nor miss
// a partner that is over.
void JobManager::OnSpawnStarted(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return;
  JobRecord& record = it->second;
  record.connected = true;
  const bool had_limit = std::exchange(record.facts.start_deadline, 0) != 0;
  const bool had_partner = !std::exchange(record.facts.partner, "").empty();
  if (!had_limit && !had_partner) return;
  if (families_.at(record.family).token.empty()) return;
  persistence_->PersistFacts(nspace, record.facts);
}

}  // namespace canopy::control
