#include "server/control/job_manager.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "server/control/launcher_events.h"
#include "server/control/waiting.h"

namespace canopy::control {
namespace {

// What the launch of a job allows for those that it will spawn.
LaunchFacts FactsOf(const v1::Launch& launch) {
  LaunchFacts facts;
  facts.oversubscribe =
      launch.oversubscribe() ||
      launch.map_by().find(":oversubscribe") != std::string::npos;
  return facts;
}

// What the spawner asked the launcher to do.
void FillWishes(const spawn::SpawnCall& call, v1::JobMapped* mapped) {
  mapped->set_tag_output(call.policies.tag_output);
  mapped->set_timestamp_output(call.policies.timestamp_output);
  mapped->set_output_directory(call.policies.output_directory);
  mapped->set_display_map(call.display_map);
  mapped->set_report_bindings(call.report_bindings);
}

v1::RunEvent NoticeEvent(const std::string& text) {
  v1::RunEvent event;
  event.set_notice(Printable(text));
  return event;
}

std::string IgnoredText(const std::string& nspace,
                        const std::vector<std::string>& keys) {
  std::string text = "job " + nspace +
                     ": its spawner asked for what has no "
                     "effect here:";
  for (const std::string& key : keys) text += " " + key;
  return text;
}

}  // namespace

JobManager::JobManager(EventLoop* loop, JobPlanner planner)
    : loop_(loop), planner_(std::move(planner)), spawns_(loop) {}

void JobManager::set_sink(InputSink* sink) {
  sink_ = sink;
  spawns_.set_sink(sink);
}

void JobManager::set_persistence(LaunchPersistence* persistence,
                                 uint32_t grace_ms,
                                 uint32_t reattach_timeout_ms) {
  persistence_ = persistence;
  grace_ms_ = grace_ms;
  reattach_timeout_ms_ = reattach_timeout_ms;
}

// --------------------------------------------------------------- recovery ---

void JobManager::Recover(const std::vector<PersistedJob>& jobs) {
  loop_->AssertOnThread();
  std::map<std::string, std::vector<const PersistedJob*>> families;
  for (const PersistedJob& job : jobs) families[job.token].push_back(&job);
  for (const auto& [token, members] : families) RecoverFamily(token, members);
}

void JobManager::RecoverFamily(const std::string& token,
                               const std::vector<const PersistedJob*>& jobs) {
  const auto first = std::ranges::find_if(jobs, [](const PersistedJob* job) {
    return job->job->parent.nspace.empty();
  });
  const FamilyEntry entry =
      MakeFamily((first == jobs.end() ? jobs.front() : *first)->job->nspace);
  Family& family = entry->second;
  family.token = token;
  family.input_done.reset();
  for (const PersistedJob* job : jobs) family.Add(job->job->nspace);
  for (const PersistedJob* job : jobs) RecoverJob(*job, entry);
  if (family.over()) {
    ended_[token] = {family.kept(), family.Conclusion()};
    families_.erase(entry);
  }
  AwaitLauncher(token);
}

void JobManager::RecoverJob(const PersistedJob& persisted, FamilyEntry family) {
  const JobSpec& job = *persisted.job;
  if (persisted.facts.spawn_request) {
    spawns_.Recover(job.parent, *persisted.facts.spawn_request, job.nspace,
                    persisted.end.has_value());
  }
  if (!persisted.end) {
    AddJob(family, persisted.job, persisted.facts).since = persisted.since;
    return;
  }
  v1::JobEnd end;
  end.ParseFromString(*persisted.end);
  family->second.OnEnded(job.nspace, end);
  family->second.KeepRecord(job.nspace, job.parent);
  if (end.status() == kSuccess || persisted.facts.separate) return;
  // The predecessor may not have come to end what ends with it. The core has
  // all jobs once the loop runs.
  loop_->Post([this, ended = persisted.job] { EndTogether(*ended, true); });
}

void JobManager::AwaitLauncher(const std::string& token) {
  loop_->AddTimer(int64_t{reattach_timeout_ms_} * 1000000,
                  [this, token] { OnReattachTimeout(token); });
}

void JobManager::OnReattachTimeout(const std::string& token) {
  if (const auto ended = ended_.extract(token)) {
    for (const std::string& job : ended.mapped().jobs) {
      persistence_->DropControl(job);
    }
    return;
  }
  for (auto& [id, family] : families_) {
    if (family.token != token || launchers_.contains(family.launcher)) continue;
    Abandon(&family);
    for (const std::string& job : family.jobs()) {
      sink_->OnInput(core::LauncherReattached{job, std::nullopt});
    }
    return Kill(family, {"", kErrJobKilledByCmd,
                         "the launcher did not come "
                         "back"});
  }
}

// Without a record, what is left of the jobs ends with this agent.
void JobManager::Abandon(Family* family) {
  family->abandoned = true;
  if (std::exchange(family->token, "").empty()) return;
  for (const std::string& job : family->jobs()) persistence_->DropControl(job);
  for (const std::string& job : family->kept()) persistence_->DropControl(job);
}

size_t JobManager::num_bound() const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [&](const auto& job) {
    const Family& family = families_.at(job.second.family);
    return family.token.empty() && !family.abandoned;
  }));
}

void JobManager::AnnounceHandover(uint32_t ms) {
  loop_->AssertOnThread();
  for (auto& [id, launcher] : launchers_) {
    if (launcher.family == 0) continue;
    v1::RunEvent event;
    event.set_planned_downtime_ms(ms);
    launcher.stream->Send(std::move(event));
  }
}

// --------------------------------------------------------------- requests ---

void JobManager::OnLauncher(uint64_t id, LauncherStream* launcher) {
  loop_->AssertOnThread();
  launchers_[id].stream = launcher;
}

void JobManager::OnRequest(uint64_t id, v1::RunRequest request) {
  loop_->AssertOnThread();
  const auto it = launchers_.find(id);
  if (it == launchers_.end()) return;
  LauncherState* launcher = &it->second;
  if (request.has_launch()) return Launch(id, launcher, request.launch());
  if (request.has_reattach()) return Reattach(id, launcher, request.reattach());
  const auto family = families_.find(launcher->family);
  if (family == families_.end()) return;
  switch (request.kind_case()) {
    case v1::RunRequest::kInput:
      Offer(family->second.first(), request.mutable_input());
      break;
    case v1::RunRequest::kSignal:
      for (const std::string& job : family->second.jobs()) {
        SignalJob(job, request.signal());
      }
      break;
    case v1::RunRequest::kConsumed:
      Consume(launcher, request.consumed());
      break;
    case v1::RunRequest::kKill:
      Kill(family->second, {"", kErrJobKilledByCmd, request.kill().reason(),
                            request.kill().immediately()});
      break;
    default:
      break;
  }
}

void JobManager::Offer(const std::string& nspace, v1::Input* input) {
  core::InputOffered offered{nspace, Bytes(std::move(*input->mutable_data()))};
  if (input->has_position()) offered.position = input->position();
  sink_->OnInput(std::move(offered));
}

void JobManager::Kill(const Family& family, core::KillRequested kill) {
  for (const std::string& job : family.jobs()) {
    kill.nspace = job;
    sink_->OnInput(kill);
  }
}

JobManager::FamilyEntry JobManager::MakeFamily(const std::string& first) {
  return families_.emplace(next_family_++, Family(first)).first;
}

JobRecord& JobManager::AddJob(FamilyEntry family,
                              std::shared_ptr<const JobSpec> job,
                              const LaunchFacts& facts) {
  family->second.Add(job->nspace);
  JobRecord& record = jobs_[job->nspace];
  record.job = std::move(job);
  record.facts = facts;
  record.since = EventLoop::Now();
  record.family = family->first;
  return record;
}

void JobManager::Launch(uint64_t id, LauncherState* launcher,
                        const v1::Launch& launch) {
  if (launcher->family != 0) {
    return Refuse(launcher, Status(kErrBadParam, "one job for each call"));
  }
  PlannedJob plan = planner_.launch(launch);
  if (!plan.ok()) return Refuse(launcher, plan.status());
  const std::shared_ptr<const JobSpec> job = *plan;
  SendMapped(launcher, MappedEvent(*job));
  if (launch.do_not_launch() && !launch.check_only()) {
    v1::RunEvent end;
    end.mutable_end();
    launcher->stream->Send(std::move(end));
    return launcher->stream->FinishWhenWritten();
  }
  const LaunchFacts facts = FactsOf(launch);
  const FamilyEntry family = MakeFamily(job->nspace);
  AddJob(family, job, facts);
  launcher->family = family->first;
  family->second.launcher = id;
  if (persistence_ != nullptr && !launch.token().empty() &&
      persistence_->PersistLaunch(*job, launch.token(), facts)) {
    family->second.token = launch.token();
  }
  sink_->OnInput(core::LaunchRequested{job, !family->second.token.empty(),
                                       launch.check_only()});
}

void JobManager::SendMapped(LauncherState* launcher, v1::RunEvent event) {
  if (persistence_ != nullptr) event.mutable_mapped()->set_grace_ms(grace_ms_);
  launcher->stream->Send(std::move(event));
}

// --------------------------------------------------------------- spawning ---

void JobManager::OnSpawn(const core::HostSpawn& spawn) {
  const Status status = Spawn(spawn);
  if (status.ok()) return;
  spawns_.Refuse(spawn, status);
  if (LauncherState* launcher = LauncherOf(spawn.proc.nspace)) {
    launcher->stream->Send(NoticeEvent("job " + spawn.proc.nspace + ": rank " +
                                       std::to_string(spawn.proc.rank) +
                                       " cannot spawn: " + status.message()));
  }
}

Status JobManager::Spawn(const core::HostSpawn& spawn) {
  const auto parent = jobs_.find(spawn.proc.nspace);
  if (parent == jobs_.end() ||
      parent->second.phase == core::JobPhase::kEnding) {
    return Status(kErrJobCanceled, "its job is being ended");
  }
  Result<spawn::SpawnCall> call = spawn::ParseSpawnCall(spawn.call.view());
  if (!call.ok()) return call.status();
  PlannedJob plan = planner_.spawn(*call, spawn.proc);
  if (!plan.ok()) return plan.status();
  const std::shared_ptr<const JobSpec> job = *plan;
  const LaunchFacts facts = {parent->second.facts.oversubscribe, spawn.request,
                             call->separate};
  const FamilyEntry family = families_.find(parent->second.family);
  const std::string& token = family->second.token;
  if (!token.empty() && !persistence_->PersistLaunch(*job, token, facts)) {
    return Status(kErrJobSysOpFailed, "it could not be recorded");
  }
  AddJob(family, job, facts);
  spawns_.Begin(spawn, job->nspace, *call);
  AnnounceSpawned(*job, *call);
  sink_->OnInput(core::LaunchRequested{job, !token.empty()});
  return Status();
}

void JobManager::AnnounceSpawned(const JobSpec& job,
                                 const spawn::SpawnCall& call) {
  LauncherState* const launcher = LauncherOf(job.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event = MappedEvent(job);
  FillWishes(call, event.mutable_mapped());
  SendMapped(launcher, std::move(event));
  if (call.ignored.empty()) return;
  launcher->stream->Send(NoticeEvent(IgnoredText(job.nspace, call.ignored)));
}

// ------------------------------------------------------------ reattaching ---

void JobManager::Reattach(uint64_t id, LauncherState* launcher,
                          const v1::Reattach& reattach) {
  if (launcher->family != 0 || reattach.token().empty()) return;
  for (auto it = families_.begin(); it != families_.end(); ++it) {
    if (it->second.token != reattach.token()) continue;
    return ReattachTo(id, launcher, it, reattach);
  }
  const auto ended = ended_.extract(reattach.token());
  v1::RunEvent event;
  event.mutable_reattached()->set_known(!ended.empty());
  if (ended.empty()) event.mutable_reattached()->set_input_done(0);
  launcher->stream->Send(std::move(event));
  if (ended) SendEnd(launcher, ended.mapped().jobs, ended.mapped().end);
}

void JobManager::ReattachTo(uint64_t id, LauncherState* launcher,
                            FamilyEntry entry, const v1::Reattach& reattach) {
  Family& family = entry->second;
  if (const auto before = launchers_.find(family.launcher);
      before != launchers_.end()) {
    before->second.family = 0;
    before->second.stream->FinishWhenWritten();
  }
  family.launcher = id;
  launcher->family = entry->first;
  if (reattach.has_input_begin() && !family.input_done) {
    family.input_done = reattach.input_begin();
  }
  const auto first = jobs_.find(family.first());
  if (reattach.received_size() == 0 && first != jobs_.end()) {
    SendMapped(launcher, MappedEvent(*first->second.job));
  }
  v1::RunEvent event;
  event.mutable_reattached()->set_known(true);
  if (family.input_done) {
    event.mutable_reattached()->set_input_done(*family.input_done);
  }
  launcher->stream->Send(std::move(event));
  for (const std::string& job : family.jobs()) {
    ReattachOutput(launcher, family, job, reattach);
  }
  if (!reattach.has_kill()) return;
  core::KillRequested kill{"", kErrJobKilledByCmd, reattach.kill().reason(),
                           reattach.kill().immediately()};
  kill.again = !kill.immediately;
  Kill(family, std::move(kill));
}

// A spawned job that the launcher does not list, it has not heard of.
void JobManager::ReattachOutput(LauncherState* launcher, const Family& family,
                                const std::string& nspace,
                                const v1::Reattach& reattach) {
  core::LauncherReattached reattached{nspace, std::vector<uint64_t>()};
  const auto take = [&](const auto& received) {
    reattached.received->assign(received.begin(), received.end());
  };
  if (nspace == family.first()) {
    take(reattach.received());
    if (reattach.has_input_begin()) {
      reattached.input_begin = reattach.input_begin();
    }
    return sink_->OnInput(std::move(reattached));
  }
  const auto known =
      std::ranges::find(reattach.spawned(), nspace, &v1::SpawnedOutput::nspace);
  if (known != reattach.spawned().end()) {
    take(known->received());
  } else {
    SendMapped(launcher, MappedEvent(*jobs_.at(nspace).job));
  }
  sink_->OnInput(std::move(reattached));
}

void JobManager::Refuse(LauncherState* launcher, const Status& status) {
  v1::RunEvent event;
  *event.mutable_end() = EndOf(status);
  launcher->stream->Send(std::move(event));
  launcher->stream->FinishWhenWritten();
}

void JobManager::Consume(LauncherState* launcher, uint64_t bytes) {
  while (bytes > 0 && !launcher->unconsumed.empty()) {
    Unconsumed& next = launcher->unconsumed.front();
    const uint64_t part = std::min(bytes, next.bytes);
    sink_->OnInput(core::OutputConsumed{next.nspace, next.rank, part});
    bytes -= part;
    next.bytes -= part;
    if (next.bytes == 0) launcher->unconsumed.pop_front();
  }
}

void JobManager::OnGone(uint64_t id) {
  loop_->AssertOnThread();
  const auto node = launchers_.extract(id);
  if (node.empty()) return;
  const LauncherState& launcher = node.mapped();
  if (persistence_ != nullptr) {
    for (const std::string& job : launcher.ended) {
      persistence_->DropControl(job);
    }
  }
  const auto family = families_.find(launcher.family);
  if (family == families_.end()) return;
  Abandon(&family->second);
  Kill(family->second, {"", kErrJobKilledByCmd, "the launcher went away"});
  for (const Unconsumed& left : launcher.unconsumed) {
    sink_->OnInput(core::OutputConsumed{left.nspace, left.rank, left.bytes});
  }
}

Family* JobManager::FamilyOf(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  return job == jobs_.end() ? nullptr : &families_.at(job->second.family);
}

JobManager::LauncherState* JobManager::LauncherOf(const std::string& nspace) {
  const Family* const family = FamilyOf(nspace);
  if (family == nullptr) return nullptr;
  const auto launcher = launchers_.find(family->launcher);
  return launcher == launchers_.end() ? nullptr : &launcher->second;
}

// ---------------------------------------------------------------- changes ---

void JobManager::OnJobChanged(const core::JobChanged& change) {
  const auto it = jobs_.find(change.nspace);
  if (it == jobs_.end()) return;
  JobRecord& record = it->second;
  record.phase = change.phase;
  record.procs_ended = change.procs_ended;
  if (spawns_.OnJobChanged(change, record.job->procs.size())) {
    record.connected = true;
  }
  if (change.out_of_time) EndOutOfTime(change.nspace);
  Report(change);
  if (change.phase >= core::JobPhase::kEnding && change.status != kSuccess) {
    OnFailing(change);
  }
  if (change.phase == core::JobPhase::kEnded) OnEnded(change);
}

// How a launch proceeds is shown of the first job alone.
void JobManager::Report(const core::JobChanged& change) {
  LauncherState* const launcher = LauncherOf(change.nspace);
  if (launcher == nullptr) return;
  const JobSpec& job = *jobs_.at(change.nspace).job;
  if (!change.notes.empty()) launcher->stream->Send(NotesEvent(job, change));
  if (change.phase == core::JobPhase::kEnded ||
      change.nspace != FamilyOf(change.nspace)->first()) {
    return;
  }
  launcher->stream->Send(ProgressEvent(job, change));
}

void JobManager::OnFailing(const core::JobChanged& change) {
  const JobRecord& record = jobs_.at(change.nspace);
  // That a spawn has failed is for its caller to judge.
  if (record.facts.spawn_request && !record.connected) return;
  FamilyOf(change.nspace)->OnFailing(change.nspace, EndOf(change));
  EndTogether(*record.job, record.connected && !record.facts.separate);
}

// Ends what ends with a job that has failed.
void JobManager::EndTogether(const JobSpec& failed, bool with_parent) {
  for (const Consequence& next : ConsequencesOf(failed, with_parent, jobs_)) {
    core::KillRequested kill{next.nspace, kErrJobTermWoSync, next.reason};
    kill.again = true;
    sink_->OnInput(std::move(kill));
  }
}

void JobManager::OnEnded(const core::JobChanged& change) {
  const auto job = jobs_.extract(change.nspace);
  const JobRecord& record = job.mapped();
  const auto entry = families_.find(record.family);
  Family& family = entry->second;
  const v1::JobEnd end = EndOf(change);
  const bool spawned = record.facts.spawn_request.has_value();
  const bool ran = !spawned || record.connected;
  if (!family.token.empty()) PersistEnd(&family, record, end, ran);
  if (const auto launcher = launchers_.find(family.launcher);
      spawned && launcher != launchers_.end()) {
    v1::RunEvent event;
    event.mutable_spawned_end()->set_nspace(change.nspace);
    *event.mutable_spawned_end()->mutable_end() = end;
    launcher->second.stream->Send(std::move(event));
  }
  family.OnEnded(change.nspace, ran ? end : v1::JobEnd());
  if (family.over()) Conclude(entry);
  if (!jobs_.empty()) return;
  for (auto& done : std::exchange(when_idle_, {})) done();
}

// What never ran is not asked for again: a successor may well try it anew.
void JobManager::PersistEnd(Family* family, const JobRecord& record,
                            const v1::JobEnd& end, bool ran) {
  const std::string& nspace = record.job->nspace;
  if (!ran) return persistence_->DropControl(nspace);
  persistence_->PersistEnd(nspace, end.SerializeAsString());
  const std::string unneeded = family->KeepRecord(nspace, record.job->parent);
  if (!unneeded.empty()) persistence_->DropControl(unneeded);
}

void JobManager::Conclude(FamilyEntry entry) {
  const Family family = std::move(entry->second);
  families_.erase(entry);
  const auto launcher = launchers_.find(family.launcher);
  if (launcher != launchers_.end()) {
    SendEnd(&launcher->second, family.kept(), family.Conclusion());
  } else if (!family.token.empty()) {
    ended_[family.token] = {family.kept(), family.Conclusion()};
    AwaitLauncher(family.token);
  }
}

void JobManager::EndOutOfTime(const std::string& nspace) {
  if (std::exchange(jobs_[nspace].out_of_time, true)) return;
  CollectState("why", nspace, [this, nspace](const auto& answers) {
    const auto it = jobs_.find(nspace);
    if (it == jobs_.end()) return;
    v1::WhyReply why;
    FillWaiting(
        answers,
        [job = it->second.job](NodeId agent) {
          const auto node =
              std::ranges::find(job->nodes, agent, &JobNode::agent);
          return node == job->nodes.end() ? "node " + std::to_string(agent)
                                          : node->name;
        },
        &why);
    sink_->OnInput(core::KillRequested{nspace, kErrTimeout, WaitingLine(why)});
  });
}

void JobManager::SendEnd(LauncherState* launcher,
                         std::vector<std::string> ended,
                         const v1::JobEnd& end) {
  v1::RunEvent event;
  *event.mutable_end() = end;
  launcher->family = 0;
  launcher->ended = std::move(ended);
  launcher->stream->Send(std::move(event));
  launcher->stream->FinishWhenWritten();
}

// ----------------------------------------------------------------- streams ---

void JobManager::OnOutput(const core::DeliverOutput& output) {
  LauncherState* launcher = LauncherOf(output.nspace);
  if (launcher == nullptr) {
    sink_->OnInput(
        core::OutputConsumed{output.nspace, output.rank, output.data.size()});
    return;
  }
  if (!output.data.empty()) {
    launcher->unconsumed.push_back(
        {output.nspace, output.rank, output.data.size()});
  }
  v1::RunEvent event;
  v1::Output* out = event.mutable_output();
  out->set_rank(output.rank);
  out->set_channel(output.channel);
  out->set_data(output.data.view().data(), output.data.size());
  if (output.nspace != FamilyOf(output.nspace)->first()) {
    out->set_nspace(output.nspace);
  }
  launcher->stream->Send(std::move(event));
}

void JobManager::OnOutputDelivered(const core::OutputDelivered& output) {
  LauncherState* launcher = LauncherOf(output.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_flush(true);
  launcher->stream->Send(std::move(event));
}

void JobManager::OnInputConsumed(const core::InputConsumed& input) {
  Family* const family = FamilyOf(input.nspace);
  if (family == nullptr || input.nspace != family->first()) return;
  if (family->input_done) *family->input_done += input.bytes;
  LauncherState* launcher = LauncherOf(input.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_input_consumed(input.bytes);
  launcher->stream->Send(std::move(event));
}

// ----------------------------------------------------------------- control ---

void JobManager::KillAll(const std::string& reason,
                         std::function<void()> done) {
  loop_->AssertOnThread();
  if (jobs_.empty()) return done();
  when_idle_.push_back(std::move(done));
  std::vector<std::string> names;
  for (const auto& [nspace, record] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd, reason});
  }
}

void JobManager::SignalJob(const std::string& nspace, int signal) {
  loop_->AssertOnThread();
  sink_->OnInput(core::SignalRequested{nspace, signal, {}});
}

void JobManager::CollectState(const std::string& what,
                              const std::string& nspace, StateDone done) {
  loop_->AssertOnThread();
  const uint64_t id = next_collection_++;
  collections_[id].done = std::move(done);
  sink_->OnInput(core::StateRequested{id, what, nspace});
}

void JobManager::OnStateCollected(const core::StateCollected& state) {
  const auto it = collections_.find(state.request);
  if (it == collections_.end()) return;
  if (!state.done) {
    it->second.answers.push_back(state);
    return;
  }
  auto collection = collections_.extract(it);
  collection.mapped().done(collection.mapped().answers);
}

}  // namespace canopy::control
