#include "server/control/job_controller.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "common/text.h"
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
  for (const JobNode& node : job.nodes) {
    v1::MapNode* out = mapped->add_nodes();
    out->set_name(node.name);
    out->set_slots(node.slots);
  }
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    const ProcPlacement& p = job.procs[rank];
    v1::MapProc* out =
        mapped->mutable_nodes(static_cast<int>(p.node))->add_procs();
    out->set_rank(rank);
    out->set_app(p.app);
    out->set_cpuset(p.cpuset);
  }
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

JobController::JobController(EventLoop* loop, JobPlanner planner)
    : loop_(loop), planner_(std::move(planner)) {}

void JobController::set_keeper(JobKeeper* keeper, uint32_t grace_ms,
                               uint32_t patience_ms) {
  keeper_ = keeper;
  grace_ms_ = grace_ms;
  patience_ms_ = patience_ms;
}

void JobController::Recover(const std::vector<KeptJob>& jobs) {
  for (const KeptJob& kept : jobs) {
    const std::string& nspace = kept.job->nspace;
    if (kept.end) {
      Ended& ended = ended_[kept.token];
      ended.nspace = nspace;
      ended.end.ParseFromString(*kept.end);
    } else {
      JobRecord& record = jobs_[nspace];
      record.job = kept.job;
      record.since = kept.since;
      record.token = kept.token;
      record.input_done.reset();
    }
    loop_->AddTimer(int64_t{patience_ms_} * 1000000,
                    [this, token = kept.token] { GiveUp(token); });
  }
}

void JobController::GiveUp(const std::string& token) {
  if (const auto ended = ended_.extract(token)) {
    return keeper_->DropControl(ended.mapped().nspace);
  }
  for (const auto& [nspace, record] : jobs_) {
    if (record.token != token || callers_.contains(record.caller)) continue;
    const std::string job = nspace;
    Abandon(job);
    sink_->OnInput(core::CallerAttached{job, std::nullopt});
    return sink_->OnInput(core::KillRequested{
        job, kErrJobKilledByCmd, "the launcher did not come back"});
  }
}

// Without a record, what is left of the job ends with this agent.
void JobController::Abandon(const std::string& nspace) {
  JobRecord& record = jobs_.at(nspace);
  record.abandoned = true;
  if (std::exchange(record.token, "").empty()) return;
  keeper_->DropControl(nspace);
}

size_t JobController::num_bound() const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [](const auto& job) {
    return job.second.token.empty() && !job.second.abandoned;
  }));
}

void JobController::SayAway(uint32_t ms) {
  for (auto& [id, caller] : callers_) {
    if (caller.nspace.empty()) continue;
    v1::RunEvent event;
    event.set_away_ms(ms);
    caller.stream->Send(std::move(event));
  }
}

void JobController::OnCaller(uint64_t id, RunCaller* caller) {
  callers_[id].stream = caller;
}

void JobController::OnRequest(uint64_t id, v1::RunRequest request) {
  const auto it = callers_.find(id);
  if (it == callers_.end()) return;
  Caller* caller = &it->second;
  if (request.has_launch()) return Launch(id, caller, request.launch());
  if (request.has_attach()) return Attach(id, caller, request.attach());
  if (caller->nspace.empty()) return;
  switch (request.kind_case()) {
    case v1::RunRequest::kInput:
      Offer(caller->nspace, request.mutable_input());
      break;
    case v1::RunRequest::kSignal:
      sink_->OnInput(
          core::SignalRequested{caller->nspace, request.signal(), {}});
      break;
    case v1::RunRequest::kConsumed:
      Consume(caller, request.consumed());
      break;
    case v1::RunRequest::kKill:
      sink_->OnInput(core::KillRequested{caller->nspace, kErrJobKilledByCmd,
                                         request.kill().reason(),
                                         request.kill().immediately()});
      break;
    default:
      break;
  }
}

void JobController::Offer(const std::string& nspace, v1::Input* input) {
  core::InputOffered offered{nspace, Bytes(std::move(*input->mutable_data()))};
  if (input->has_position()) offered.position = input->position();
  sink_->OnInput(std::move(offered));
}

void JobController::Launch(uint64_t id, Caller* caller,
                           const v1::Launch& launch) {
  if (!caller->nspace.empty()) {
    return Refuse(caller, Status(kErrBadParam, "one job for each call"));
  }
  Result<std::shared_ptr<const JobSpec>> plan = planner_(launch);
  if (!plan.ok()) return Refuse(caller, plan.status());
  const std::shared_ptr<const JobSpec> job = *plan;
  SendMapped(caller, *job);
  if (launch.do_not_launch()) {
    v1::RunEvent end;
    end.mutable_end();
    caller->stream->Send(std::move(end));
    return caller->stream->FinishWhenWritten();
  }
  caller->nspace = job->nspace;
  JobRecord& record = jobs_[job->nspace];
  record.job = job;
  record.since = EventLoop::Now();
  record.caller = id;
  if (keeper_ != nullptr && !launch.token().empty() &&
      keeper_->KeepLaunch(*job, launch.token())) {
    record.token = launch.token();
  }
  sink_->OnInput(
      core::LaunchRequested{job, !record.token.empty(), launch.check_only()});
}

void JobController::SendMapped(Caller* caller, const JobSpec& job) {
  v1::RunEvent event;
  FillMap(job, event.mutable_mapped());
  if (keeper_ != nullptr) event.mutable_mapped()->set_grace_ms(grace_ms_);
  caller->stream->Send(std::move(event));
}

void JobController::Attach(uint64_t id, Caller* caller,
                           const v1::Attach& attach) {
  if (!caller->nspace.empty() || attach.token().empty()) return;
  for (const auto& [nspace, record] : jobs_) {
    if (record.token != attach.token()) continue;
    return AttachTo(id, caller, nspace, attach);
  }
  const auto ended = ended_.extract(attach.token());
  v1::RunEvent event;
  event.mutable_attached()->set_known(!ended.empty());
  if (ended.empty()) event.mutable_attached()->set_input_done(0);
  caller->stream->Send(std::move(event));
  if (ended) SendEnd(caller, ended.mapped().nspace, ended.mapped().end);
}

void JobController::AttachTo(uint64_t id, Caller* caller,
                             const std::string& nspace,
                             const v1::Attach& attach) {
  JobRecord& record = jobs_.at(nspace);
  if (const auto before = callers_.find(record.caller);
      before != callers_.end()) {
    before->second.nspace.clear();
    before->second.stream->FinishWhenWritten();
  }
  record.caller = id;
  caller->nspace = nspace;
  if (attach.received_size() == 0) SendMapped(caller, *record.job);
  core::CallerAttached attached{nspace,
                                std::vector<uint64_t>(attach.received().begin(),
                                                      attach.received().end())};
  if (attach.has_input_begin()) {
    attached.input_begin = attach.input_begin();
    if (!record.input_done) record.input_done = attach.input_begin();
  }
  v1::RunEvent event;
  event.mutable_attached()->set_known(true);
  if (record.input_done) {
    event.mutable_attached()->set_input_done(*record.input_done);
  }
  caller->stream->Send(std::move(event));
  sink_->OnInput(std::move(attached));
  if (!attach.has_kill()) return;
  core::KillRequested kill{nspace, kErrJobKilledByCmd, attach.kill().reason(),
                           attach.kill().immediately()};
  kill.again = !kill.immediately;
  sink_->OnInput(std::move(kill));
}

void JobController::Refuse(Caller* caller, const Status& status) {
  v1::RunEvent event;
  event.mutable_end()->set_exit_code(ExitCodeOf(status.code()));
  event.mutable_end()->set_status(status.code());
  event.mutable_end()->set_text(Printable(status.message()));
  caller->stream->Send(std::move(event));
  caller->stream->FinishWhenWritten();
}

void JobController::Consume(Caller* caller, uint64_t bytes) {
  while (bytes > 0 && !caller->unconsumed.empty()) {
    auto& [rank, left] = caller->unconsumed.front();
    const uint64_t part = std::min(bytes, left);
    sink_->OnInput(core::OutputConsumed{caller->nspace, rank, part});
    bytes -= part;
    left -= part;
    if (left == 0) caller->unconsumed.pop_front();
  }
}

void JobController::OnGone(uint64_t id) {
  const auto it = callers_.find(id);
  if (it == callers_.end()) return;
  const std::string nspace = it->second.nspace;
  const std::string ended = it->second.ended;
  const auto unconsumed = std::move(it->second.unconsumed);
  callers_.erase(it);
  if (!ended.empty() && keeper_ != nullptr) keeper_->DropControl(ended);
  if (!jobs_.contains(nspace)) return;
  Abandon(nspace);
  sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd,
                                     "the launcher went away"});
  for (const auto& [rank, bytes] : unconsumed) {
    sink_->OnInput(core::OutputConsumed{nspace, rank, bytes});
  }
}

JobController::Caller* JobController::CallerOf(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return nullptr;
  const auto caller = callers_.find(job->second.caller);
  return caller == callers_.end() ? nullptr : &caller->second;
}

void JobController::OnJobChanged(const core::JobChanged& change) {
  const auto it = jobs_.find(change.nspace);
  if (it == jobs_.end()) return;
  it->second.phase = change.phase;
  it->second.procs_ended = change.procs_ended;
  if (change.out_of_time) SayWhatItWaitsFor(change.nspace);
  Caller* caller = CallerOf(change.nspace);
  if (caller != nullptr) SendNotes(caller, change);
  if (change.phase != core::JobPhase::kEnded) {
    if (caller != nullptr) SendProgress(caller, change);
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
  if (!token.empty()) keeper_->KeepEnd(change.nspace, end.SerializeAsString());
  if (caller != nullptr) {
    SendEnd(caller, change.nspace, end);
  } else if (!token.empty()) {
    ended_[token] = {change.nspace, end};
    loop_->AddTimer(int64_t{patience_ms_} * 1000000,
                    [this, token] { GiveUp(token); });
  }
  jobs_.erase(it);
  if (!jobs_.empty()) return;
  for (auto& done : std::exchange(when_idle_, {})) done();
}

void JobController::SayWhatItWaitsFor(const std::string& nspace) {
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

void JobController::SendNotes(Caller* caller, const core::JobChanged& change) {
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
  caller->stream->Send(std::move(event));
}

void JobController::SendProgress(Caller* caller,
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
  caller->stream->Send(std::move(event));
}

void JobController::SendEnd(Caller* caller, const std::string& nspace,
                            const v1::JobEnd& end) {
  v1::RunEvent event;
  *event.mutable_end() = end;
  caller->nspace.clear();
  caller->ended = nspace;
  caller->stream->Send(std::move(event));
  caller->stream->FinishWhenWritten();
}

void JobController::OnOutput(const core::DeliverOutput& output) {
  Caller* caller = CallerOf(output.nspace);
  if (caller == nullptr) {
    sink_->OnInput(
        core::OutputConsumed{output.nspace, output.rank, output.data.size()});
    return;
  }
  if (!output.data.empty()) {
    caller->unconsumed.emplace_back(output.rank, output.data.size());
  }
  v1::RunEvent event;
  v1::Output* out = event.mutable_output();
  out->set_rank(output.rank);
  out->set_channel(output.channel);
  out->set_data(output.data.view().data(), output.data.size());
  caller->stream->Send(std::move(event));
}

void JobController::OnOutputDelivered(const core::OutputDelivered& output) {
  Caller* caller = CallerOf(output.nspace);
  if (caller == nullptr) return;
  v1::RunEvent event;
  event.set_flush(true);
  caller->stream->Send(std::move(event));
}

void JobController::OnInputConsumed(const core::InputConsumed& input) {
  const auto job = jobs_.find(input.nspace);
  if (job != jobs_.end() && job->second.input_done) {
    *job->second.input_done += input.bytes;
  }
  Caller* caller = CallerOf(input.nspace);
  if (caller == nullptr) return;
  v1::RunEvent event;
  event.set_input_consumed(input.bytes);
  caller->stream->Send(std::move(event));
}

void JobController::KillAll(const std::string& reason,
                            std::function<void()> done) {
  if (jobs_.empty()) return done();
  when_idle_.push_back(std::move(done));
  std::vector<std::string> names;
  for (const auto& [nspace, record] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    sink_->OnInput(core::KillRequested{nspace, kErrJobKilledByCmd, reason});
  }
}

void JobController::SignalJob(const std::string& nspace, int signal) {
  sink_->OnInput(core::SignalRequested{nspace, signal, {}});
}

void JobController::CollectState(const std::string& what,
                                 const std::string& nspace, StateDone done) {
  const uint64_t id = next_collection_++;
  collections_[id].done = std::move(done);
  sink_->OnInput(core::StateRequested{id, what, nspace});
}

void JobController::OnStateCollected(const core::StateCollected& state) {
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
