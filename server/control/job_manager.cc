#include "server/control/job_manager.h"

#include <utility>

#include "common/text.h"
#include "server/control/launcher_events.h"
#include "server/control/time_limit.h"

namespace canopy::control {
namespace {

constexpr int kExitKilled = 143;  // 128 + SIGTERM

// What the launch of a job allows for those that it will spawn.
LaunchFacts FactsOf(const v1::Launch& launch) {
  LaunchFacts facts;
  facts.oversubscribe =
      launch.oversubscribe() ||
      launch.map_by().find(":oversubscribe") != std::string::npos;
  return facts;
}

}  // namespace

JobManager::JobManager(EventLoop* loop, JobPlanner planner)
    : loop_(loop),
      planner_(std::move(planner)),
      staging_(
          [this](const std::string& nspace, Status status) {
            OnFilesCopied(nspace, std::move(status));
          },
          [this](const std::string& nspace, uint64_t bytes) {
            OnPreloadTaken(nspace, bytes);
          }),
      spawns_(loop),
      notices_([this](const std::string& nspace, const std::string& line) {
        Notice(nspace, line);
      }) {}

void JobManager::set_sink(InputSink* sink) {
  staging_.set_sink(sink);
  sink_ = &staging_;
  spawns_.set_sink(sink_);
  notices_.set_sink(sink_);
  states_.set_sink(sink_);
}

void JobManager::set_persistence(LaunchPersistence* persistence,
                                 uint32_t grace_ms,
                                 uint32_t reattach_timeout_ms) {
  persistence_ = persistence;
  grace_ms_ = grace_ms;
  reattach_timeout_ms_ = reattach_timeout_ms;
}

// --------------------------------------------------------------- requests ---

void JobManager::OnLauncher(uint64_t id, LauncherStream* launcher) {
  loop_->AssertOnThread();
  launchers_[id] = Launcher(launcher);
}

void JobManager::OnRequest(uint64_t id, v1::RunRequest request) {
  loop_->AssertOnThread();
  const auto it = launchers_.find(id);
  if (it == launchers_.end()) return;
  Launcher* launcher = &it->second;
  if (request.has_launch()) return Launch(id, launcher, request.launch());
  if (request.has_reattach()) return Reattach(id, launcher, request.reattach());
  const auto family = families_.find(launcher->family);
  if (family == families_.end()) return;
  switch (request.kind_case()) {
    case v1::RunRequest::kInput:
      Offer(family->second.first(), request.mutable_input());
      break;
    case v1::RunRequest::kPreload:
      staging_.Offer(family->second.first(),
                     Bytes(std::move(*request.mutable_preload())));
      break;
    case v1::RunRequest::kSignal:
      for (const std::string& job : family->second.jobs()) {
        SignalJob(job, request.signal());
      }
      break;
    case v1::RunRequest::kConsumed:
      launcher->Consume(request.consumed(), sink_);
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

void JobManager::Launch(uint64_t id, Launcher* launcher,
                        const v1::Launch& launch) {
  if (launcher->family != 0) {
    return launcher->Refuse(Status(kErrBadParam, "one job for each call"));
  }
  PlannedJob plan = planner_.launch(launch);
  if (!plan.ok()) return launcher->Refuse(plan.status());
  const Preload preload = PreloadOf(launch);
  const auto job = std::make_shared<const JobSpec>(WithCopies(**plan, preload));
  v1::RunEvent mapped = MappedEvent(*job);
  mapped.mutable_mapped()->set_preloads(preload.wanted);
  SendMapped(launcher, std::move(mapped));
  if (launch.do_not_launch() && !launch.check_only()) {
    v1::RunEvent end;
    end.mutable_end();
    launcher->Send(std::move(end));
    return launcher->Finish();
  }
  const FamilyEntry family = MakeFamily(job->nspace);
  JobRecord& record = AddJob(family, job, FactsOf(launch));
  record.token = launch.token();
  launcher->family = family->first;
  family->second.launcher = id;
  Begin(&record, preload, launch.check_only());
}

// A job whose files are being copied is not persisted: what has been copied is
// no successor's.
void JobManager::Begin(JobRecord* record, const Preload& preload,
                       bool check_only) {
  if (preload.wanted) return staging_.Begin(record->job, preload.source);
  const Status status = Start(*record, check_only);
  if (!status.ok()) OnFilesCopied(record->job->nspace, status);
}

Status JobManager::Start(const JobRecord& record, bool check_only) {
  Family& family = families_.at(record.family);
  const bool persisted =
      persistence_ != nullptr && !record.token.empty() &&
      persistence_->PersistLaunch(*record.job, record.token, record.facts);
  if (record.facts.spawn_request && !record.token.empty() && !persisted) {
    return Status(kErrJobSysOpFailed, "it could not be recorded");
  }
  if (persisted) family.token = record.token;
  sink_->OnInput(core::LaunchRequested{record.job, persisted, check_only});
  return Status();
}

// With an error, the job ends without having been launched.
void JobManager::OnFilesCopied(const std::string& nspace, Status status) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return;
  if (status.ok()) status = Start(job->second, false);
  if (status.ok()) return;
  const ProcId spawner = job->second.job->parent;
  if (!spawner.nspace.empty()) NoticeRefusal(nspace, spawner, status);
  core::JobChanged end;
  end.nspace = nspace;
  end.phase = core::JobPhase::kEnded;
  end.exit_code = status.code() == kErrJobKilledByCmd ? kExitKilled : 1;
  end.status = status.code();
  end.text = status.message();
  OnJobChanged(end);
}

void JobManager::OnPreloadTaken(const std::string& nspace, uint64_t bytes) {
  Launcher* const launcher = LauncherOf(nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_preload_taken(bytes);
  launcher->Send(std::move(event));
}

void JobManager::SendMapped(Launcher* launcher, v1::RunEvent event) {
  if (persistence_ != nullptr) event.mutable_mapped()->set_grace_ms(grace_ms_);
  launcher->Send(std::move(event));
}

// A line for the user, from the launcher of the job's family.
void JobManager::Notice(const std::string& nspace, const std::string& text) {
  Launcher* const launcher = LauncherOf(nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_notice(Printable(text));
  launcher->Send(std::move(event));
}

// ---------------------------------------------------------------- looking up

void JobManager::OnGone(uint64_t id) {
  loop_->AssertOnThread();
  auto node = launchers_.extract(id);
  if (node.empty()) return;
  Launcher& launcher = node.mapped();
  if (persistence_ != nullptr) {
    for (const std::string& job : launcher.ended) {
      persistence_->DropControl(job);
    }
  }
  const auto family = families_.find(launcher.family);
  if (family == families_.end()) return;
  Abandon(&family->second);
  Kill(family->second, {"", kErrJobKilledByCmd, "the launcher went away"});
  launcher.ConsumeAll(sink_);
}

Family* JobManager::FamilyOf(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  return job == jobs_.end() ? nullptr : &families_.at(job->second.family);
}

Launcher* JobManager::LauncherOf(const std::string& nspace) {
  const Family* const family = FamilyOf(nspace);
  if (family == nullptr) return nullptr;
  const auto launcher = launchers_.find(family->launcher);
  return launcher == launchers_.end() ? nullptr : &launcher->second;
}

// ---------------------------------------------------------------- changes ---

void JobManager::OnJobChanged(const core::JobChanged& change) {
  if (staging_.OnJobChanged(change)) return;
  const auto it = jobs_.find(change.nspace);
  if (it == jobs_.end()) return;
  JobRecord& record = it->second;
  record.phase = change.phase;
  record.procs_ended = change.procs_ended;
  for (const std::string& job :
       spawns_.OnJobChanged(change, record.job->procs.size())) {
    OnSpawnStarted(job);
  }
  notices_.OnJobChanged(change, &record);
  if (change.out_of_time && !std::exchange(record.out_of_time, true)) {
    EndOutOfTime(record.job, &states_, sink_);
  }
  Report(change);
  if (change.phase >= core::JobPhase::kEnding && change.status != kSuccess) {
    OnFailing(change);
  }
  if (change.phase == core::JobPhase::kEnded) OnEnded(change);
}

// How a launch proceeds is shown of the first job alone.
void JobManager::Report(const core::JobChanged& change) {
  Launcher* const launcher = LauncherOf(change.nspace);
  if (launcher == nullptr) return;
  const JobSpec& job = *jobs_.at(change.nspace).job;
  if (!change.notes.empty()) launcher->Send(NotesEvent(job, change));
  if (change.phase == core::JobPhase::kEnded ||
      change.nspace != FamilyOf(change.nspace)->first()) {
    return;
  }
  launcher->Send(ProgressEvent(job, change));
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
  // One that is over before its partner has started.
  const bool ran = !spawned || record.connected ||
                   (record.told_start && change.status == kSuccess);
  if (!family.token.empty()) PersistEnd(&family, record, end, ran);
  if (const auto launcher = launchers_.find(family.launcher);
      spawned && launcher != launchers_.end()) {
    v1::RunEvent event;
    event.mutable_spawned_end()->set_nspace(change.nspace);
    *event.mutable_spawned_end()->mutable_end() = end;
    launcher->second.Send(std::move(event));
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
  for (const std::string& unneeded :
       family->KeepRecord(nspace, record.job->parent,
                          record.facts.spawn_request.value_or(0))) {
    persistence_->DropControl(unneeded);
  }
}

void JobManager::Conclude(FamilyEntry entry) {
  const Family family = std::move(entry->second);
  families_.erase(entry);
  const auto launcher = launchers_.find(family.launcher);
  if (launcher != launchers_.end()) {
    launcher->second.End(family.kept(), family.Conclusion());
  } else if (!family.token.empty()) {
    ended_[family.token] = {family.kept(), family.Conclusion()};
    AwaitLauncher(family.token);
  }
}

// ----------------------------------------------------------------- streams ---

void JobManager::OnOutput(const core::DeliverOutput& output) {
  if (staging_.OnOutput(output)) return;
  Launcher* launcher = LauncherOf(output.nspace);
  if (launcher == nullptr) {
    sink_->OnInput(
        core::OutputConsumed{output.nspace, output.rank, output.data.size()});
    return;
  }
  const bool is_first = output.nspace == FamilyOf(output.nspace)->first();
  launcher->SendOutput(output, is_first ? "" : output.nspace);
}

void JobManager::OnOutputDelivered(const core::OutputDelivered& output) {
  Launcher* launcher = LauncherOf(output.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_flush(true);
  launcher->Send(std::move(event));
}

void JobManager::OnInputConsumed(const core::InputConsumed& input) {
  if (staging_.OnInputConsumed(input)) return;
  Family* const family = FamilyOf(input.nspace);
  if (family == nullptr || input.nspace != family->first()) return;
  if (family->input_done) *family->input_done += input.bytes;
  Launcher* launcher = LauncherOf(input.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_input_consumed(input.bytes);
  launcher->Send(std::move(event));
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

}  // namespace canopy::control
