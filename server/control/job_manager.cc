#include "server/control/job_manager.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/job_description.h"
#include "server/control/job_map.h"
#include "server/control/kills.h"
#include "server/control/launch_facts.h"
#include "server/control/launcher_events.h"
#include "server/control/placement_request.h"
#include "server/control/tool_record.h"

namespace canopy::control {
namespace {

constexpr int kExitKilled = 143;  // 128 + SIGTERM
// The limit for requesting a job again because it has lost a node before its
// start. The job itself may be the cause of the losses.
constexpr uint32_t kMaxLostStarts = 3;

// Returns false if the job is only mapped.
bool IsRecorded(const v1::Launch& launch) {
  return !launch.do_not_launch() || launch.check_only();
}

// The scheduler may receive the request at the other agent before it learns
// that the present one was withdrawn, so the number of the attempt grows.
v1::JobRequeued MovedOf(const PlacementRequest& request) {
  v1::JobRequeued moved;
  moved.set_name(request.id.request);
  moved.set_attempt(request.id.attempt + 1);
  moved.set_since_ms(request.since_ms);
  moved.set_reason("another agent launches new jobs now");
  moved.set_elsewhere(true);
  return moved;
}

}  // namespace

JobManager::JobManager(EventLoop* loop, JobPlanner planner)
    : loop_(loop),
      planner_(std::move(planner)),
      staging_(
          [this](const std::string& nspace, Status status) {
            pipeline_.OnFilesCopied(nspace, std::move(status));
          },
          [this](const std::string& nspace, uint64_t bytes) {
            OnPreloadTaken(nspace, bytes);
          }),
      requests_(loop),
      placements_(loop, [this](QueuedJob* job) { OnWaits(job); }),
      pipeline_(&families_, &placements_, &staging_, &planner_,
                [this](const std::string& nspace, const Status& status) {
                  OnNotLaunched(nspace, status);
                }),
      host_additions_(loop, &families_, &planner_),
      spawns_(&families_, &placements_, &requests_, &pipeline_, &planner_,
              &host_additions_),
      recovery_(
          loop, &families_, &requests_,
          [this](Family* family) { spawns_.Release(family); },
          [this](const PersistedJob& job, const v1::JobEnd& end) {
            notices_.OnRecoveredEnd(*job.job, job.facts, ChangeOf(end));
          }),
      notices_([this](const std::string& nspace, const std::string& line) {
        families_.Notice(nspace, line);
      }),
      timeouts_(loop, &families_, &pipeline_, &states_, planner_),
      start_watch_(loop, &states_,
                   [this](const std::string& nspace, const std::string& line) {
                     families_.Notice(nspace, line);
                   }),
      commands_({loop, &planner_, &families_, &placements_, &pipeline_, this,
                 &staging_}) {}

void JobManager::set_sink(InputSink* sink) {
  staging_.set_sink(sink);
  sink_ = &staging_;
  pipeline_.set_sink(sink_);
  requests_.set_sink(sink_);
  recovery_.set_sink(sink_);
  notices_.set_sink(sink_);
  states_.set_sink(sink_);
  timeouts_.set_sink(sink_);
}

void JobManager::set_persistence(LaunchPersistence* persistence,
                                 uint32_t grace_ms,
                                 uint32_t reattach_timeout_ms) {
  families_.set_persistence(persistence, grace_ms);
  recovery_.set_timeout(reattach_timeout_ms);
}

void JobManager::Recover(const std::vector<PersistedJob>& jobs) {
  recovery_.Recover(jobs);
  for (const auto& [nspace, record] : families_.jobs()) {
    placements_.Launched(record, /*recovered=*/true);
  }
  for (const PersistedJob& job : jobs) {
    if (job.facts.host_output) commands_.Recover(job);
  }
}

void JobManager::AnnounceHandover(uint32_t ms) {
  for (auto& [id, launcher] : families_.launchers()) {
    if (launcher.family == 0 && !placements_.WaitingFor(id)) continue;
    v1::RunEvent event;
    event.set_planned_downtime_ms(ms);
    launcher.Send(std::move(event));
  }
}

// --------------------------------------------------------------- requests ---

void JobManager::OnLauncher(uint64_t id, LauncherStream* launcher,
                            const Caller& caller) {
  loop_->AssertOnThread();
  families_.launchers()[id] = Launcher(launcher, caller);
}

void JobManager::OnRequest(uint64_t id, v1::RunRequest request) {
  loop_->AssertOnThread();
  Launcher* const launcher = families_.FindLauncher(id);
  if (launcher == nullptr) return;
  if (request.has_launch()) {
    return Launch(id, launcher, std::move(*request.mutable_launch()));
  }
  if (request.has_reattach()) {
    return recovery_.OnReattach(id, launcher, request.reattach());
  }
  if (OnOrderAnswer(id, request)) return;
  Family* const family = families_.FindFamily(launcher->family);
  if (family == nullptr) {
    return OnRequestOfQueued(id, launcher, std::move(request));
  }
  switch (request.kind_case()) {
    case v1::RunRequest::kInput:
      Offer(family->first(), request.mutable_input());
      break;
    case v1::RunRequest::kPreload:
      staging_.Offer(family->first(),
                     Bytes(std::move(*request.mutable_preload())));
      break;
    case v1::RunRequest::kSignal:
      for (const std::string& job : family->jobs()) {
        SignalJob(job, request.signal());
      }
      break;
    case v1::RunRequest::kConsumed:
      launcher->Consume(request.consumed(), sink_);
      break;
    case v1::RunRequest::kKill:
      KillFamily(family,
                 {"", kErrJobKilledByCmd, request.kill().reason(),
                  request.kill().immediately()},
                 sink_);
      break;
    default:
      break;
  }
}

// Handles a message about hosts that the launcher adds. Returns false for other
// requests.
bool JobManager::OnOrderAnswer(uint64_t id, const v1::RunRequest& request) {
  if (request.has_nodes()) {
    host_additions_.OnNodes(id, request.nodes());
  } else if (request.has_hosts_added()) {
    host_additions_.OnAdded(id, request.hosts_added());
  } else {
    return false;
  }
  return true;
}

void JobManager::Offer(const std::string& nspace, v1::Input* input) {
  core::InputOffered offered{nspace, Bytes(std::move(*input->mutable_data()))};
  if (input->has_position()) offered.position = input->position();
  sink_->OnInput(std::move(offered));
}

// Handles a request of a launcher whose job is queued. The job has no
// processes, so the request either cancels the job or waits.
void JobManager::OnRequestOfQueued(uint64_t id, Launcher* launcher,
                                   v1::RunRequest request) {
  if (!placements_.WaitingFor(id)) return;
  if (request.has_kill()) {
    return placements_.CancelOfLauncher(
        id, Status(kErrJobKilledByCmd, request.kill().reason()));
  }
  if (request.has_input()) launcher->held.push_back(std::move(request));
}

void JobManager::OnWaits(QueuedJob* job) {
  Launcher* const launcher = families_.FindLauncher(job->launcher);
  if (launcher == nullptr) return;
  launcher->Send(QueuedEvent(*job, families_.grace_ms()));
}

bool JobManager::CancelQueued(const std::string& name,
                              const std::string& reason) {
  return placements_.Cancel(name, Status(kErrJobKilledByCmd, reason));
}

// Returns the name for the job of a launch. A job that was queued at a
// predecessor keeps its name, and so its place in the queue.
std::string JobManager::NameFor(const v1::Launch& launch) const {
  const std::string& before = launch.queued_as();
  const bool is_free = IsRequestName(before) && !placements_.Waiting(before) &&
                       !families_.jobs().contains(before);
  return is_free ? before : planner_.new_name();
}

void JobManager::Launch(uint64_t id, Launcher* launcher, v1::Launch launch) {
  if (launcher->family != 0 || placements_.WaitingFor(id)) {
    return launcher->Refuse(Status(kErrBadParam, "one job for each call"));
  }
  launcher->requeues = launch.requeues();
  launcher->adds_hosts = launch.adds_hosts();
  DropEnded(launcher);
  if (launcher->caller.uid == 0 && !launch.allow_run_as_root()) {
    return launcher->Refuse(Status(
        kErrNoPermissions,
        "programs run as root only with --allow-run-as-root; a bug in one "
        "can damage the system"));
  }
  Result<JobRequest> request = DecodeJobRequest(launch.request());
  if (!request.ok()) return launcher->Refuse(request.status());
  if (request->hints.any() && !placements_.HeedsDirectives()) {
    return launcher->Refuse(Status(
        kErrNotSupported,
        "no scheduler places the jobs of this overlay: leave out --queue, "
        "--account, --priority and --hint"));
  }
  if (Status named = NameHosts(&*request); !named.ok()) {
    return launcher->Refuse(named);
  }
  // A job that is not started needs no placement.
  const bool is_placed = launch.do_not_launch();
  const auto asked = std::make_shared<const Asked>(
      Asked{std::move(launch), *std::move(request), launcher->caller});
  pipeline_.Ask(QueuedOf(id, *asked), is_placed,
                {[this, id, asked](const Placed& placed) {
                   return Begin(id, *asked, placed);
                 },
                 [this, id](const Status& why) {
                   Launcher* const refused = families_.FindLauncher(id);
                   if (refused != nullptr) OnRefused(refused, why);
                 }});
}

void JobManager::OnRefused(Launcher* launcher, const Status& why) {
  if (!launcher->moves) return launcher->Refuse(why);
  v1::RunEvent event;
  *event.mutable_requeued() = *std::exchange(launcher->moves, std::nullopt);
  launcher->Send(std::move(event));
}

// The launcher sends its input again, so the input that it has sent is dropped.
void JobManager::MoveQueued() {
  loop_->AssertOnThread();
  std::vector<uint64_t> ids;
  placements_.ForEach([&](const QueuedJob& job) {
    Launcher* const launcher = families_.FindLauncher(job.launcher);
    if (launcher == nullptr || !launcher->requeues) return;
    launcher->moves = MovedOf(job.request);
    launcher->held.clear();
    ids.push_back(job.launcher);
  });
  const Status why(kErrJobCanceled, "another agent launches new jobs now");
  for (const uint64_t id : ids) placements_.CancelOfLauncher(id, why);
}

// Replaces relative hosts by names. Without a scheduler "+e" stays, because the
// mapper finds the nodes that are empty when the job starts.
Status JobManager::NameHosts(JobRequest* request) const {
  const bool empty = placements_.HeedsDirectives();
  Status status = planner_.name_hosts("", empty, &request->places.hosts);
  for (JobApp& app : request->apps) {
    if (status.ok()) status = planner_.name_hosts("", empty, &app.hosts);
  }
  return status;
}

QueuedJob JobManager::QueuedOf(uint64_t launcher, const Asked& asked) const {
  const v1::Launch& launch = asked.launch;
  QueuedJob queued;
  queued.launcher = launcher;
  PlacementRequest& request = queued.request;
  request = PlacementOf(asked.request, asked.caller);
  request.id.request = NameFor(launch);
  request.again = request.id.request == launch.queued_as();
  if (request.again) request.id.attempt = std::max(launch.attempt(), 1u);
  request.since_ms = request.again ? launch.queued_since_ms() : WallClockMs();
  return queued;
}

Status JobManager::Begin(uint64_t id, const Asked& asked, Placed placed) {
  if (families_.FindLauncher(id) == nullptr) {
    return Status(kErrJobKilledByCmd, "the launcher ended");
  }
  // The job gets a new name, because agents may still know the job of the
  // earlier attempt.
  if (placed.id.attempt > 1) placed.name = planner_.new_name();
  const PlannedJob plan = planner_.launch(asked.request, asked.caller, placed);
  if (!plan.ok()) return plan.status();
  if (IsRecorded(asked.launch)) {
    if (Status may = pipeline_.MayRecord(**plan); !may.ok()) return may;
  }
  Start(id, asked, placed, *plan);
  return Status();
}

void JobManager::Start(uint64_t id, const Asked& asked, const Placed& placed,
                       const std::shared_ptr<const JobSpec>& plan) {
  Launcher* const launcher = families_.FindLauncher(id);
  const v1::Launch& launch = asked.launch;
  const std::string nspace = plan->nspace;
  Preload preload = launch.preloads() ? PreloadOf(asked.request) : Preload();
  v1::RunEvent mapped = MappedEvent(WithCopies(*plan, preload));
  mapped.mutable_mapped()->set_preloads(preload.wanted);
  if (launch.report_topologies() && planner_.topology) {
    AddTopologies(*plan, planner_.topology, mapped.mutable_mapped());
  }
  families_.SendMapped(launcher, std::move(mapped));
  if (!IsRecorded(launch)) {
    v1::RunEvent end;
    end.mutable_end();
    launcher->Send(std::move(end));
    return launcher->Finish();
  }
  JobRecord& record = pipeline_.Record(
      {plan, FactsOf(asked.request, placed), std::move(preload)}, nullptr);
  record.token = launch.token();
  families_.Attach(id, families_.FindFamily(record.family));
  start_watch_.Begin(*record.job);
  pipeline_.Start(nspace, launch.check_only());
  for (v1::RunRequest& held : std::exchange(launcher->held, {})) {
    OnRequest(id, std::move(held));
  }
}

void JobManager::OnNotLaunched(const std::string& nspace,
                               const Status& status) {
  core::JobChanged end;
  end.nspace = nspace;
  end.phase = core::JobPhase::kEnded;
  end.exit_code = status.code() == kErrJobKilledByCmd ? kExitKilled : 1;
  end.status = status.code();
  end.text = status.message();
  OnJobChanged(end);
}

void JobManager::OnPreloadTaken(const std::string& nspace, uint64_t bytes) {
  Launcher* const launcher = families_.LauncherOf(nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_preload_taken(bytes);
  launcher->Send(std::move(event));
}

void JobManager::OnGone(uint64_t id) {
  loop_->AssertOnThread();
  auto node = families_.launchers().extract(id);
  if (node.empty()) return;
  host_additions_.OnLauncherGone(id);
  placements_.CancelOfLauncher(
      id, Status(kErrJobKilledByCmd, "the launcher ended"));
  Launcher& launcher = node.mapped();
  DropEnded(&launcher);
  Family* const family = families_.FindFamily(launcher.family);
  if (family == nullptr) return;
  families_.Abandon(family);
  KillAbandoned(families_, family, "the launcher ended", sink_);
  launcher.ConsumeAll(sink_);
}

// Drops the records of ended jobs whose ends the launcher has received.
void JobManager::DropEnded(Launcher* launcher) {
  LaunchPersistence* const persistence = families_.persistence();
  if (persistence == nullptr) return;
  for (const std::string& job : std::exchange(launcher->ended, {})) {
    persistence->DropControl(job);
  }
}

// ---------------------------------------------------------------- changes ---

void JobManager::OnJobChanged(const core::JobChanged& change) {
  if (staging_.OnJobChanged(change)) return;
  JobRecord* const record = families_.FindJob(change.nspace);
  if (record == nullptr) return;
  if (record->prepares) RequeueIfLost(change, record);
  record->phase = change.phase;
  record->prepares = change.phase == core::JobPhase::kPreparing;
  if (change.phase != core::JobPhase::kPreparing) {
    start_watch_.End(change.nspace);
  }
  record->procs_ended = change.procs_ended;
  for (const std::string& job :
       requests_.OnJobChanged(change, record->job->procs.size())) {
    spawns_.OnStarted(job);
  }
  notices_.OnJobChanged(change, record);
  placements_.Changed(*record, change);
  if (change.out_of_time && !std::exchange(record->out_of_time, true)) {
    timeouts_.OnOutOfTime(change.nspace);
  }
  Report(change, *record);
  if (change.phase >= core::JobPhase::kEnding && change.status != kSuccess) {
    OnFailing(change, *record);
  }
  if (change.phase == core::JobPhase::kEnded) OnEnded(change);
}

// Requests the job again if it has lost a node before its processes were
// started, because that is no failure of the job, and other nodes may have
// room.
void JobManager::RequeueIfLost(const core::JobChanged& change,
                               JobRecord* record) {
  Launcher* const launcher = families_.LauncherOf(change.nspace);
  if (change.status != kErrNodeDown || launcher == nullptr ||
      launcher->lost_starts >= kMaxLostStarts) {
    return;
  }
  if (commands_.Requeue(record, change.text).ok()) ++launcher->lost_starts;
}

// Reports a change to the launcher. The progress of a launch is reported only
// for the first job, because the launcher shows no other.
void JobManager::Report(const core::JobChanged& change,
                        const JobRecord& record) {
  Launcher* const launcher = families_.LauncherOf(change.nspace);
  if (launcher == nullptr) return;
  const JobSpec& job = *record.job;
  if (!change.notes.empty()) launcher->Send(NotesEvent(job, change));
  if (change.phase == core::JobPhase::kEnded ||
      change.nspace != families_.FindFamily(record.family)->first()) {
    return;
  }
  launcher->Send(ProgressEvent(job, change));
}

// Handles a request to spawn. An empty call means that the spawner, a tool, is
// gone.
void JobManager::OnSpawn(const core::HostSpawn& spawn) {
  if (!spawn.call.empty()) return spawns_.OnSpawn(spawn);
  placements_.CancelOfParent(spawn.proc.nspace,
                             Status(kErrJobCanceled, "its tool is gone"));
  EndJobsOfTool(spawn.proc, &families_, sink_);
}

void JobManager::OnFailing(const core::JobChanged& change,
                           const JobRecord& record) {
  // If a job fails while it is being spawned, its spawner decides how to react.
  if (record.facts.spawn_request && !record.connected) return;
  if (CountsForFamily(record.facts)) {
    families_.FindFamily(record.family)
        ->OnFailing(change.nspace, EndOf(change));
  }
  // A job that was killed on request has not failed, so it does not end its
  // parent.
  const bool with_parent = record.connected && !record.facts.separate &&
                           change.status != kErrJobKilledByCmd;
  KillConsequences(*record.job, record.facts, with_parent, families_.jobs(),
                   sink_);
}

void JobManager::OnEnded(const core::JobChanged& change) {
  placements_.CancelOfParent(
      change.nspace, Status(kErrJobCanceled, "the job of its spawner is over"));
  const JobRecord record = families_.RemoveJob(change.nspace);
  Family* const family = families_.FindFamily(record.family);
  const v1::JobEnd end = EndOf(change);
  placements_.Released(record, change,
                       !families_.HasJobOn(record.facts.placed.id));
  timeouts_.OnEnded(change.nspace);
  const bool spawned = record.facts.spawn_request.has_value();
  // A job that has started may end before its partner has started.
  const bool ran = !spawned || record.connected ||
                   (record.told_start && change.status == kSuccess);
  if (!family->token.empty()) PersistEnd(family, record, end, ran);
  Launcher* const launcher = families_.FindLauncher(family->launcher);
  if (spawned && launcher != nullptr) {
    v1::RunEvent event;
    event.mutable_spawned_end()->set_nspace(change.nspace);
    *event.mutable_spawned_end()->mutable_end() = end;
    launcher->Send(std::move(event));
  }
  const bool counts = ran && CountsForFamily(record.facts);
  family->OnEnded(change.nspace, counts ? end : v1::JobEnd());
  if (family->over()) Conclude(*family);
  placements_.SlotsFreed();
  if (!families_.jobs().empty()) return;
  for (auto& done : std::exchange(when_idle_, {})) done();
}

// Persists the end of a job. The record of a job that never ran is dropped, so
// that a successor may execute the request again.
void JobManager::PersistEnd(Family* family, const JobRecord& record,
                            const v1::JobEnd& end, bool ran) {
  LaunchPersistence* const persistence = families_.persistence();
  const std::string& nspace = record.job->nspace;
  if (!ran) return persistence->DropControl(nspace);
  persistence->PersistEnd(nspace, end.SerializeAsString());
  for (const std::string& unneeded :
       family->KeepRecord(nspace, record.job->parent,
                          record.facts.spawn_request.value_or(0))) {
    persistence->DropControl(unneeded);
  }
}

void JobManager::Conclude(const Family& family) {
  if (Launcher* const launcher = families_.FindLauncher(family.launcher)) {
    if (family.requeued && !family.killed) {
      launcher->Requeue(family.kept(), *family.requeued);
    } else {
      launcher->End(family.kept(), family.Conclusion());
    }
  } else if (!family.token.empty()) {
    recovery_.Keep(family);
  }
  families_.RemoveFamily(family.id);
}

// ----------------------------------------------------------------- streams ---

void JobManager::OnOutput(const core::DeliverOutput& output) {
  if (staging_.OnOutput(output)) return;
  Launcher* launcher = families_.LauncherOf(output.nspace);
  if (launcher == nullptr) {
    sink_->OnInput(
        core::OutputConsumed{output.nspace, output.rank, output.data.size()});
    return;
  }
  const bool is_first =
      output.nspace == families_.FamilyOf(output.nspace)->first();
  launcher->SendOutput(output, is_first ? "" : output.nspace);
}

void JobManager::OnOutputDelivered(const core::OutputDelivered& output) {
  Launcher* launcher = families_.LauncherOf(output.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_flush(true);
  launcher->Send(std::move(event));
}

void JobManager::OnInputConsumed(const core::InputConsumed& input) {
  if (staging_.OnInputConsumed(input)) return;
  Family* const family = families_.FamilyOf(input.nspace);
  if (family == nullptr || input.nspace != family->first()) return;
  if (family->input_done) *family->input_done += input.bytes;
  Launcher* launcher = families_.LauncherOf(input.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_input_consumed(input.bytes);
  launcher->Send(std::move(event));
}

// ----------------------------------------------------------------- control ---

void JobManager::KillAll(const std::string& reason,
                         std::function<void()> done) {
  loop_->AssertOnThread();
  placements_.CancelAll(Status(kErrJobKilledByCmd, reason));
  if (families_.jobs().empty()) return done();
  when_idle_.push_back(std::move(done));
  std::vector<std::string> names;
  for (const auto& [nspace, record] : families_.jobs()) names.push_back(nspace);
  for (const std::string& nspace : names) {
    if (Family* family = families_.FamilyOf(nspace)) family->killed = true;
    sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd, reason});
  }
}

void JobManager::EndJob(const std::string& nspace, const std::string& reason,
                        uint32_t seconds) {
  loop_->AssertOnThread();
  if (seconds != 0) {
    return sink_->OnInput(core::TimeLimitSet{nspace, seconds, seconds});
  }
  sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd, reason});
}

void JobManager::SignalJob(const std::string& nspace, int signal) {
  loop_->AssertOnThread();
  sink_->OnInput(core::SignalRequested{nspace, signal, {}});
}

}  // namespace canopy::control
