#include "server/control/job_manager.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "common/text.h"
#include "server/control/job_map.h"
#include "server/control/waiting.h"

namespace canopy::control {
namespace {

void FillMap(const JobSpec& job, v1::JobMapped* mapped) {
  mapped->set_nspace(job.nspace);
  mapped->set_num_procs(static_cast<uint32_t>(job.procs.size()));
  mapped->set_map_by(job.map_by);
  mapped->set_rank_by(job.rank_by);
  mapped->set_bind_to(job.bind_to);
  mapped->set_oversubscribed(job.oversubscribed);
  FillJobMap(job, mapped->mutable_nodes());
}

// Exit code of a launch that never started a process, as shells use them.
int ExitCodeOf(int status) {
  switch (status) {
    case kErrJobExeNotFound:
      return 127;
    case kErrJobAppNotExecutable:
    case kErrExeNotAccessible:
      return 126;
    default:
      return 1;
  }
}

}  // namespace

JobManager::JobManager(EventLoop* loop, JobPlanner planner)
    : loop_(loop), planner_(std::move(planner)) {}

void JobManager::set_persistence(LaunchPersistence* persistence,
                                 uint32_t grace_ms,
                                 uint32_t reattach_timeout_ms) {
  persistence_ = persistence;
  grace_ms_ = grace_ms;
  reattach_timeout_ms_ = reattach_timeout_ms;
}

void JobManager::Recover(const std::vector<PersistedJob>& jobs) {
  loop_->AssertOnThread();
  for (const PersistedJob& persisted : jobs) {
    const std::string& nspace = persisted.job->nspace;
    if (persisted.end) {
      Ended& ended = ended_[persisted.token];
      ended.nspace = nspace;
      ended.end.ParseFromString(*persisted.end);
    } else {
      JobRecord& record = jobs_[nspace];
      record.job = persisted.job;
      record.since = persisted.since;
      record.token = persisted.token;
      record.input_done.reset();
    }
    loop_->AddTimer(int64_t{reattach_timeout_ms_} * 1000000,
                    [this, token = persisted.token] { OnReattachTimeout(token); });
  }
}

void JobManager::OnReattachTimeout(const std::string& token) {
  if (const auto ended = ended_.extract(token)) {
    return persistence_->DropControl(ended.mapped().nspace);
  }
  for (const auto& [nspace, record] : jobs_) {
    if (record.token != token || launchers_.contains(record.launcher)) continue;
    const std::string job = nspace;
    Abandon(job);
    sink_->OnInput(core::LauncherReattached{job, std::nullopt});
    return sink_->OnInput(core::KillRequested{
        job, kErrJobKilledByCmd, "the launcher did not come back"});
  }
}

// Without a record, what is left of the job ends with this agent.
void JobManager::Abandon(const std::string& nspace) {
  JobRecord& record = jobs_.at(nspace);
  record.abandoned = true;
  if (std::exchange(record.token, "").empty()) return;
  persistence_->DropControl(nspace);
}

size_t JobManager::num_bound() const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [](const auto& job) {
    return job.second.token.empty() && !job.second.abandoned;
  }));
}

void JobManager::AnnounceHandover(uint32_t ms) {
  loop_->AssertOnThread();
  for (auto& [id, launcher] : launchers_) {
    if (launcher.nspace.empty()) continue;
    v1::RunEvent event;
    event.set_planned_downtime_ms(ms);
    launcher.stream->Send(std::move(event));
  }
}

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
  if (launcher->nspace.empty()) return;
  switch (request.kind_case()) {
    case v1::RunRequest::kInput:
      Offer(launcher->nspace, request.mutable_input());
      break;
    case v1::RunRequest::kSignal:
      sink_->OnInput(
          core::SignalRequested{launcher->nspace, request.signal(), {}});
      break;
    case v1::RunRequest::kConsumed:
      Consume(launcher, request.consumed());
      break;
    case v1::RunRequest::kKill:
      sink_->OnInput(core::KillRequested{launcher->nspace, kErrJobKilledByCmd,
                                         request.kill().reason(),
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

void JobManager::Launch(uint64_t id, LauncherState* launcher,
                        const v1::Launch& launch) {
  if (!launcher->nspace.empty()) {
    return Refuse(launcher, Status(kErrBadParam, "one job for each call"));
  }
  Result<std::shared_ptr<const JobSpec>> plan = planner_(launch);
  if (!plan.ok()) return Refuse(launcher, plan.status());
  const std::shared_ptr<const JobSpec> job = *plan;
  SendMapped(launcher, *job);
  if (launch.do_not_launch() && !launch.check_only()) {
    v1::RunEvent end;
    end.mutable_end();
    launcher->stream->Send(std::move(end));
    return launcher->stream->FinishWhenWritten();
  }
  launcher->nspace = job->nspace;
  JobRecord& record = jobs_[job->nspace];
  record.job = job;
  record.since = EventLoop::Now();
  record.launcher = id;
  if (persistence_ != nullptr && !launch.token().empty() &&
      persistence_->PersistLaunch(*job, launch.token())) {
    record.token = launch.token();
  }
  sink_->OnInput(
      core::LaunchRequested{job, !record.token.empty(), launch.check_only()});
}

void JobManager::SendMapped(LauncherState* launcher, const JobSpec& job) {
  v1::RunEvent event;
  FillMap(job, event.mutable_mapped());
  if (persistence_ != nullptr) event.mutable_mapped()->set_grace_ms(grace_ms_);
  launcher->stream->Send(std::move(event));
}

void JobManager::Reattach(uint64_t id, LauncherState* launcher,
                          const v1::Reattach& reattach) {
  if (!launcher->nspace.empty() || reattach.token().empty()) return;
  for (const auto& [nspace, record] : jobs_) {
    if (record.token != reattach.token()) continue;
    return ReattachTo(id, launcher, nspace, reattach);
  }
  const auto ended = ended_.extract(reattach.token());
  v1::RunEvent event;
  event.mutable_reattached()->set_known(!ended.empty());
  if (ended.empty()) event.mutable_reattached()->set_input_done(0);
  launcher->stream->Send(std::move(event));
  if (ended) SendEnd(launcher, ended.mapped().nspace, ended.mapped().end);
}

void JobManager::ReattachTo(uint64_t id, LauncherState* launcher,
                            const std::string& nspace,
                            const v1::Reattach& reattach) {
  JobRecord& record = jobs_.at(nspace);
  if (const auto before = launchers_.find(record.launcher);
      before != launchers_.end()) {
    before->second.nspace.clear();
    before->second.stream->FinishWhenWritten();
  }
  record.launcher = id;
  launcher->nspace = nspace;
  if (reattach.received_size() == 0) SendMapped(launcher, *record.job);
  core::LauncherReattached reattached{
      nspace, std::vector<uint64_t>(reattach.received().begin(),
                                    reattach.received().end())};
  if (reattach.has_input_begin()) {
    reattached.input_begin = reattach.input_begin();
    if (!record.input_done) record.input_done = reattach.input_begin();
  }
  v1::RunEvent event;
  event.mutable_reattached()->set_known(true);
  if (record.input_done) {
    event.mutable_reattached()->set_input_done(*record.input_done);
  }
  launcher->stream->Send(std::move(event));
  sink_->OnInput(std::move(reattached));
  if (!reattach.has_kill()) return;
  core::KillRequested kill{nspace, kErrJobKilledByCmd, reattach.kill().reason(),
                           reattach.kill().immediately()};
  kill.again = !kill.immediately;
  sink_->OnInput(std::move(kill));
}

void JobManager::Refuse(LauncherState* launcher, const Status& status) {
  v1::RunEvent event;
  event.mutable_end()->set_exit_code(ExitCodeOf(status.code()));
  event.mutable_end()->set_status(status.code());
  event.mutable_end()->set_text(Printable(status.message()));
  launcher->stream->Send(std::move(event));
  launcher->stream->FinishWhenWritten();
}

void JobManager::Consume(LauncherState* launcher, uint64_t bytes) {
  while (bytes > 0 && !launcher->unconsumed.empty()) {
    auto& [rank, left] = launcher->unconsumed.front();
    const uint64_t part = std::min(bytes, left);
    sink_->OnInput(core::OutputConsumed{launcher->nspace, rank, part});
    bytes -= part;
    left -= part;
    if (left == 0) launcher->unconsumed.pop_front();
  }
}

void JobManager::OnGone(uint64_t id) {
  loop_->AssertOnThread();
  const auto it = launchers_.find(id);
  if (it == launchers_.end()) return;
  const std::string nspace = it->second.nspace;
  const std::string ended = it->second.ended;
  const auto unconsumed = std::move(it->second.unconsumed);
  launchers_.erase(it);
  if (!ended.empty() && persistence_ != nullptr)
    persistence_->DropControl(ended);
  if (!jobs_.contains(nspace)) return;
  Abandon(nspace);
  sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd,
                                     "the launcher went away"});
  for (const auto& [rank, bytes] : unconsumed) {
    sink_->OnInput(core::OutputConsumed{nspace, rank, bytes});
  }
}

JobManager::LauncherState* JobManager::LauncherOf(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return nullptr;
  const auto launcher = launchers_.find(job->second.launcher);
  return launcher == launchers_.end() ? nullptr : &launcher->second;
}

void JobManager::OnJobChanged(const core::JobChanged& change) {
  const auto it = jobs_.find(change.nspace);
  if (it == jobs_.end()) return;
  it->second.phase = change.phase;
  it->second.procs_ended = change.procs_ended;
  if (change.out_of_time) EndOutOfTime(change.nspace);
  LauncherState* launcher = LauncherOf(change.nspace);
  if (launcher != nullptr) SendNotes(launcher, change);
  if (change.phase != core::JobPhase::kEnded) {
    if (launcher != nullptr) SendProgress(launcher, change);
    return;
  }
  v1::JobEnd end;
  end.set_exit_code(change.exit_code);
  end.set_status(change.status);
  end.set_text(Printable(change.text));
  if (change.first_failed != kRankInvalid) {
    end.set_first_failed(change.first_failed);
  }
  const std::string token = it->second.token;
  if (!token.empty())
    persistence_->PersistEnd(change.nspace, end.SerializeAsString());
  if (launcher != nullptr) {
    SendEnd(launcher, change.nspace, end);
  } else if (!token.empty()) {
    ended_[token] = {change.nspace, end};
    loop_->AddTimer(int64_t{reattach_timeout_ms_} * 1000000,
                    [this, token] { OnReattachTimeout(token); });
  }
  jobs_.erase(it);
  if (!jobs_.empty()) return;
  for (auto& done : std::exchange(when_idle_, {})) done();
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

void JobManager::SendNotes(LauncherState* launcher,
                           const core::JobChanged& change) {
  if (change.notes.empty()) return;
  const JobSpec& job = *jobs_[change.nspace].job;
  v1::RunEvent event;
  for (const core::ProgramNote& note : change.notes) {
    v1::ProgramNote* const out = event.mutable_program_notes()->add_notes();
    out->set_reason(Printable(note.reason));
    std::istringstream detail(note.detail);
    for (std::string line; std::getline(detail, line);) {
      out->add_detail(Printable(line));
    }
    out->set_count(note.count);
    for (const JobNode& node : job.nodes) {
      if (std::ranges::count(note.nodes, node.agent) > 0) {
        out->add_nodes(node.name);
      }
    }
  }
  launcher->stream->Send(std::move(event));
}

void JobManager::SendProgress(LauncherState* launcher,
                              const core::JobChanged& change) {
  const JobSpec& job = *jobs_[change.nspace].job;
  v1::RunEvent event;
  v1::Progress* progress = event.mutable_progress();
  progress->set_nodes_ready(change.nodes_ready);
  progress->set_nodes_total(static_cast<uint32_t>(job.nodes.size()));
  progress->set_procs_started(change.procs_started);
  progress->set_procs_total(static_cast<uint32_t>(job.procs.size()));
  progress->set_procs_ended(change.procs_ended);
  progress->set_running(change.phase == core::JobPhase::kRunning);
  launcher->stream->Send(std::move(event));
}

void JobManager::SendEnd(LauncherState* launcher, const std::string& nspace,
                         const v1::JobEnd& end) {
  v1::RunEvent event;
  *event.mutable_end() = end;
  launcher->nspace.clear();
  launcher->ended = nspace;
  launcher->stream->Send(std::move(event));
  launcher->stream->FinishWhenWritten();
}

void JobManager::OnOutput(const core::DeliverOutput& output) {
  LauncherState* launcher = LauncherOf(output.nspace);
  if (launcher == nullptr) {
    sink_->OnInput(
        core::OutputConsumed{output.nspace, output.rank, output.data.size()});
    return;
  }
  if (!output.data.empty()) {
    launcher->unconsumed.emplace_back(output.rank, output.data.size());
  }
  v1::RunEvent event;
  v1::Output* out = event.mutable_output();
  out->set_rank(output.rank);
  out->set_channel(output.channel);
  out->set_data(output.data.view().data(), output.data.size());
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
  const auto job = jobs_.find(input.nspace);
  if (job != jobs_.end() && job->second.input_done) {
    *job->second.input_done += input.bytes;
  }
  LauncherState* launcher = LauncherOf(input.nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_input_consumed(input.bytes);
  launcher->stream->Send(std::move(event));
}

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
