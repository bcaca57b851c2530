#include "server/control/spawn_executor.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/event_loop.h"
#include "common/time_units.h"
#include "server/control/launcher_events.h"
#include "server/control/placement_request.h"
#include "server/control/tool_record.h"
#include "server/core/spawn/tool_spawns.h"

namespace canopy::control {
namespace {

LaunchFacts FactsOf(const spawn::SpawnCall& call, core::RequestId request,
                    const JobRecord& parent, const Placed& placed) {
  LaunchFacts facts;
  facts.oversubscribe = parent.facts.oversubscribe;
  facts.spawn_request = request;
  facts.separate = call.separate;
  facts.apart = !CountsForFamily(parent.facts);
  facts.reports = call.request.reports;
  facts.tool = call.request.places.tool;
  facts.start_deadline = placed.give_up;
  facts.placed = PlacementFactsOf(placed);
  facts.placed.caller_job = parent.facts.placed.host_job;
  facts.nohup = call.nohup || parent.facts.nohup;
  facts.unattended = parent.facts.unattended;
  return facts;
}

void FillOutput(const spawn::OutputWishes& wishes, v1::OutputWishes* out) {
  out->set_tag(wishes.tag.value_or(false));
  out->set_rank(wishes.rank.value_or(false));
  out->set_timestamp(wishes.timestamp.value_or(false));
  out->set_xml(wishes.xml.value_or(false));
  out->set_raw(wishes.raw.value_or(false));
  out->set_directory(wishes.directory);
  out->set_file(wishes.file);
  out->set_pattern(wishes.pattern.value_or(false));
  out->set_shared_file(wishes.shared_file);
  out->set_only_files(wishes.only_files.value_or(false));
}

// Returns the spawner's directives for the launcher, in the form of
// LaunchFacts::wishes.
std::string WishesOf(const spawn::SpawnCall& call) {
  v1::JobMapped mapped;
  const spawn::OutputWishes& job = call.placing.output;
  const bool differ =
      std::ranges::any_of(call.apps, [](const spawn::SpawnApp& app) {
        return app.placing.output != spawn::OutputWishes();
      });
  if (!differ && job != spawn::OutputWishes()) {
    FillOutput(job, mapped.add_outputs());
  }
  for (const spawn::SpawnApp& app : call.apps) {
    if (!differ) break;
    FillOutput(spawn::WithDefaults(app.placing.output, job),
               mapped.add_outputs());
  }
  mapped.set_display_map(call.display_map);
  mapped.set_report_bindings(call.report_bindings);
  return mapped.SerializeAsString();
}

std::string IgnoredText(const std::string& nspace,
                        const std::vector<std::string>& keys) {
  std::string text = "job " + nspace +
                     ": attributes of its spawn that have no "
                     "effect here:";
  for (const std::string& key : keys) text += " " + key;
  return text;
}

std::string RefusalText(const ProcId& spawner, const Status& status) {
  return "job " + spawner.nspace + ": rank " + std::to_string(spawner.rank) +
         " cannot spawn: " + status.message();
}

// Returns the earlier of two deadlines, where 0 means none.
int64_t Earlier(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// Returns the latest time at which the jobs of the call must have started; 0 if
// there is no limit.
int64_t GiveUpOf(const spawn::SpawnCall& call) {
  if (call.spawn_timeout_seconds <= 0) return 0;
  return EventLoop::Now() + call.spawn_timeout_seconds * kNsPerSecond;
}

// Links two jobs that start together. `facts` are those of the job `nspace`.
void MakePartners(JobRecord* main, const std::string& nspace,
                  LaunchFacts* facts) {
  facts->cospawned = true;
  facts->partner = main->job->nspace;
  facts->start_deadline =
      Earlier(facts->start_deadline, main->facts.start_deadline);
  main->facts.start_deadline = facts->start_deadline;
  main->facts.partner = nspace;
}

// Returns the call with the job `nspace` as the target of its debugger daemons,
// if it has any.
spawn::SpawnCall Beside(const spawn::SpawnCall& call,
                        const std::string& nspace) {
  spawn::SpawnCall out = call;
  if (out.request.daemons)
    out.request.daemons->target = {nspace, kRankWildcard};
  return out;
}

}  // namespace

void SpawnExecutor::OnSpawn(const core::HostSpawn& spawn) {
  Family* const family = families_->FamilyOf(spawn.proc.nspace);
  if (family != nullptr && !family->token.empty() && !family->unattended &&
      families_->LauncherOf(spawn.proc.nspace) == nullptr) {
    family->held_spawns.push_back(spawn);
    return;
  }
  Result<spawn::SpawnCall> call = Parse(spawn);
  if (!call.ok()) return Refuse(spawn, call.status());
  if (Status s = NameHosts(spawn.proc.nspace, &*call); !s.ok()) {
    return Refuse(spawn, s);
  }
  const int64_t give_up = GiveUpOf(*call);
  const auto request = std::make_shared<const Request>(
      Request{spawn, *std::move(call), give_up});
  if (Status s = MayExecute(*request); !s.ok()) return Refuse(spawn, s);
  if (spawn::AddsHosts(request->call)) return AddHosts(request);
  Place(request);
}

void SpawnExecutor::AddHosts(const std::shared_ptr<const Request>& request) {
  additions_->Add({request->spawn.proc.nspace,
                   [this, request] { return MissingHosts(*request); },
                   request->give_up,
                   [this, request](const Status& added) {
                     Status status = added;
                     // The spawner may have ended meanwhile.
                     if (status.ok()) status = MaySpawn(request->spawn);
                     if (status.ok()) return Place(request);
                     Refuse(request->spawn, status);
                   }});
}

Result<std::vector<Host>> SpawnExecutor::MissingHosts(
    const Request& request) const {
  if (Status may = MaySpawn(request.spawn); !may.ok()) return may;
  Result<std::vector<Host>> hosts =
      planner_->hosts.missing(request.call, request.spawn.proc);
  if (!hosts.ok() || hosts->empty() || !placements_->HeedsDirectives()) {
    return hosts;
  }
  return Status(kErrNotSupported,
                "'" + hosts->front().name +
                    "' is no node of the overlay, and the scheduler alone "
                    "decides which nodes jobs get");
}

void SpawnExecutor::Place(const std::shared_ptr<const Request>& request) {
  // A tool runs beside other jobs and takes no slots.
  pipeline_->Ask(
      Queued(*request), /*is_placed=*/request->call.request.places.tool,
      {[this, request](const Placed& placed) {
         return Spawn(*request, placed);
       },
       [this, request](const Status& why) { Refuse(request->spawn, why); }});
}

// Replaces relative hosts by names. Hosts of a hostfile are named when the job
// is mapped, because the file is read then.
Status SpawnExecutor::NameHosts(const std::string& spawner,
                                spawn::SpawnCall* call) const {
  const bool empty = placements_->HeedsDirectives();
  Status status = planner_->name_hosts(spawner, empty, &call->placing.hosts);
  for (spawn::SpawnApp& app : call->apps) {
    if (!status.ok()) break;
    status = planner_->name_hosts(spawner, empty, &app.placing.hosts);
  }
  if (!status.ok() || !call->cospawned) return status;
  const auto partner = std::make_shared<spawn::SpawnCall>(*call->cospawned);
  call->cospawned = partner;
  return NameHosts(spawner, partner.get());
}

// Returns an error if the request has attributes that must be honoured and
// cannot be honoured.
Status SpawnExecutor::MayExecute(const Request& request) const {
  const spawn::SpawnCall& call = request.call;
  if (core::IsOfTool(request.spawn.request)) {
    const std::string refusal = spawn::WithoutLauncher(call).refusal;
    if (!refusal.empty()) return Status(kErrNotSupported, refusal);
  }
  const bool scheduled =
      !call.request.places.tool && placements_->HeedsDirectives();
  return call.needs_scheduler.empty() || scheduled
             ? Status()
             : Status(kErrNotSupported, call.needs_scheduler);
}

QueuedJob SpawnExecutor::Queued(const Request& request) const {
  const core::HostSpawn& spawn = request.spawn;
  QueuedJob out;
  out.request = PlacementOf(spawn, request.call, SpawnerOf(spawn));
  out.request.id.request = RequestNameOf(spawn);
  out.request.since_ms = WallClockMs();
  out.request.give_up = request.give_up;
  return out;
}

void SpawnExecutor::Refuse(const core::HostSpawn& spawn, const Status& why) {
  requests_->Refuse(spawn, why);
  families_->Notice(spawn.proc.nspace, RefusalText(spawn.proc, why));
}

void SpawnExecutor::Release(Family* family) {
  for (const core::HostSpawn& spawn : std::exchange(family->held_spawns, {})) {
    OnSpawn(spawn);
  }
}

// Returns the record of the spawner's job, which must exist, or a substitute
// for a tool.
JobRecord SpawnExecutor::SpawnerOf(const core::HostSpawn& spawn) const {
  return core::IsOfTool(spawn.request) ? ToolRecord({spawn.proc, spawn.owner})
                                       : *families_->FindJob(spawn.proc.nspace);
}

Status SpawnExecutor::MaySpawn(const core::HostSpawn& spawn) const {
  if (core::IsOfTool(spawn.request)) return Status();
  const JobRecord* const parent = families_->FindJob(spawn.proc.nspace);
  const Family* const family =
      parent == nullptr ? nullptr : families_->FindFamily(parent->family);
  if (family == nullptr || parent->phase == core::JobPhase::kEnding ||
      family->abandoned || (family->unattended && !parent->facts.unattended)) {
    return Status(kErrJobCanceled, "its job is being ended");
  }
  const std::string refusal = family->RefusalOfSpawn(SpawnQuota());
  return refusal.empty() ? Status() : Status(kErrOutOfResource, refusal);
}

Result<spawn::SpawnCall> SpawnExecutor::Parse(
    const core::HostSpawn& spawn) const {
  if (Status may = MaySpawn(spawn); !may.ok()) return may;
  return spawn::ParseSpawnCall(spawn.call.view());
}

Status SpawnExecutor::Spawn(const Request& request, const Placed& placed) {
  if (Status s = MaySpawn(request.spawn); !s.ok()) return s;
  std::vector<std::string> jobs;
  const Status status = AddAll(request, placed, &jobs);
  if (!status.ok()) {
    for (const std::string& nspace : jobs) pipeline_->Forget(nspace);
    return status;
  }
  requests_->Begin(request.spawn, jobs,
                   families_->FindJob(jobs[0])->facts.start_deadline);
  Start(jobs[0], request.call);
  if (jobs.size() > 1) Start(jobs[1], *request.call.cospawned);
  return Status();
}

Status SpawnExecutor::AddAll(const Request& request, const Placed& placed,
                             std::vector<std::string>* jobs) {
  const spawn::SpawnCall& call = request.call;
  const Status status = Add(request.spawn, call, placed, jobs);
  if (!status.ok() || !call.cospawned) return status;
  return Add(request.spawn, Beside(*call.cospawned, jobs->front()), placed,
             jobs);
}

// Maps and records the next job of the request. The earlier jobs already
// occupy their slots.
Status SpawnExecutor::Add(const core::HostSpawn& spawn,
                          const spawn::SpawnCall& call, const Placed& placed,
                          std::vector<std::string>* jobs) {
  PlannedJob plan = planner_->spawn(call, {spawn.proc, spawn.owner}, placed);
  if (!plan.ok()) return plan.status();
  if (Status may = pipeline_->MayRecord(**plan); !may.ok()) return may;
  const JobRecord parent = SpawnerOf(spawn);
  Result<Preload> preload =
      PreloadOf(call, **plan, *parent.job, spawn.proc.rank);
  if (!preload.ok()) return preload.status();
  const std::string nspace = (*plan)->nspace;
  LaunchFacts facts = FactsOf(call, spawn.request, parent, placed);
  facts.wishes = WishesOf(call);
  uint64_t home = parent.family;
  if (!jobs->empty()) {
    JobRecord* const main = families_->FindJob(jobs->front());
    MakePartners(main, nspace, &facts);
    home = main->family;
  }
  jobs->push_back(nspace);
  JobRecord& record = pipeline_->Record({*plan, facts, *std::move(preload)},
                                        families_->FindFamily(home));
  record.token = families_->FindFamily(record.family)->token;
  return Status();
}

void SpawnExecutor::Start(const std::string& nspace,
                          const spawn::SpawnCall& call) {
  const JobRecord& record = *families_->FindJob(nspace);
  TellLauncher(record, call);
  const std::string& partner = record.facts.partner;
  if (record.facts.cospawned && families_->FindJob(partner) == nullptr) {
    return pipeline_->Fail(
        nspace, Status(kErrJobCanceled, "job " + partner + " has ended"));
  }
  pipeline_->Start(nspace);
}

void SpawnExecutor::TellLauncher(const JobRecord& record,
                                 const spawn::SpawnCall& call) {
  const JobSpec& job = *record.job;
  Launcher* const launcher = families_->LauncherOf(job.nspace);
  std::vector<std::string> ignored = call.ignored;
  if (call.request.places.tool || !placements_->HeedsDirectives()) {
    ignored.insert(ignored.end(), call.for_scheduler.begin(),
                   call.for_scheduler.end());
  }
  if (launcher == nullptr) {
    const std::vector<std::string> more = spawn::WithoutLauncher(call).keys;
    ignored.insert(ignored.end(), more.begin(), more.end());
    return LogIgnored(job.parent, ignored);
  }
  families_->SendMapped(launcher, MappedEvent(record));
  if (ignored.empty()) return;
  families_->Notice(job.nspace, IgnoredText(job.nspace, ignored));
}

// Logs ignored attributes of a job without a launcher, because no user reads
// its notices.
void SpawnExecutor::LogIgnored(const ProcId& spawner,
                               const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!planner_->warn || logged_.size() >= kMaxLogged ||
        !logged_.insert(key).second) {
      continue;
    }
    planner_->warn(ToString(spawner) + ": the directive " + key +
                   " of PMIx_Spawn is ignored");
  }
}

// Persists that the start has succeeded: a successor must neither apply the
// time limit for the start any more, nor wait for a partner that is over.
void SpawnExecutor::OnStarted(const std::string& nspace) {
  JobRecord* const record = families_->FindJob(nspace);
  if (record == nullptr) return;
  record->connected = true;
  const bool had_limit = std::exchange(record->facts.start_deadline, 0) != 0;
  const bool had_partner = !std::exchange(record->facts.partner, "").empty();
  if (!had_limit && !had_partner) return;
  if (families_->FindFamily(record->family)->token.empty()) return;
  families_->persistence()->PersistFacts(nspace, record->facts);
}

}  // namespace canopy::control
