// What the job's controller decides: when it runs, when it must end and why,
// and when it is over.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/job_engine.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
// How long the end of a job that ran out of time waits for the reason.
constexpr TimeNs kTimeoutReport = 2 * kSecond;
constexpr int kSigKill = 9;

std::string Plural(size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

Status JobEngine::MayLaunch(const JobSpec& spec) const {
  for (const JobNode& node : spec.nodes) {
    if (node.agent >= tree_.size() || !tree_.alive(node.agent)) {
      return Status(kErrNodeDown, "no agent is up on node " + node.name);
    }
  }
  if (self_ != tree_.root()) {
    return Status(kErrNotSupported, "jobs are launched at agent " +
                                        node_names_[tree_.root()] +
                                        ", not here");
  }
  if (jobs_.contains(spec.nspace)) {
    return Status(kErrExists, "job " + spec.nspace + " exists already");
  }
  return Status();
}

void JobEngine::OnLaunchRequested(TimeNs now, const LaunchRequested& in,
                                  Actions* actions) {
  StepContext step{now, *actions};
  const JobSpec& spec = *in.job;
  const Status may = MayLaunch(spec);
  if (!may.ok()) {
    JobChanged end;
    end.nspace = spec.nspace;
    end.phase = JobPhase::kEnded;
    end.exit_code = kExitLaunchFailed;
    end.status = may.code();
    end.text = may.message();
    step.out.push_back(std::move(end));
    return;
  }
  JobState& job =
      Add(step, in.job,
          JobPrepare{Bytes(EncodeJobSpec(spec)), self_, {}, in.check_only});
  job.head = std::make_unique<JobHead>(job.spec, job.layout);
  job.head->since = now;
  job.head->acknowledges = in.acknowledges;
  job.head->check_only = in.check_only;
  if (spec.timeout_seconds > 0) {
    job.head->timeout = now + spec.timeout_seconds * kSecond;
  }
  Log(step, LogLine::Level::kInfo,
      "job " + spec.nspace + ": launching " +
          Plural(spec.procs.size(), "process", "processes") + " on " +
          Plural(spec.nodes.size(), "node", "nodes"));
  PersistHead(step, job);
  AskToPrepare(step, job);
  Advance(step, job);
}

void JobEngine::AdvanceHead(StepContext& step, JobState& job) {
  JobHead& head = *job.head;
  const bool starting = job.stage != LaunchStage::kPreparing;
  const LaunchPhase& phase = starting ? job.start : job.prepare;
  const PhaseAnswer answer = phase.Sum(job.Asked(self_));
  if (!answer.errors.empty() && !head.ending) FailLaunch(step, job, answer);
  PersistHead(step, job);
  if (!starting && head.ending) return Finish(step, job);
  if (job.stage == LaunchStage::kRunning) {
    for (const InputLog::Piece& piece : head.input.TakeNew()) {
      SendInput(step, job, piece);
    }
    if (const uint64_t done = head.progress.AdvanceInput(); done > 0) {
      step.out.push_back(InputConsumed{job.nspace(), done});
      head.input.Release(head.progress.input_done());
    }
    if (head.progress.all_ended()) {
      if (AllDelivered(step, job)) return Finish(step, job);
    }
  }
  if (!std::exchange(head.changed, false)) return;
  JobPhase reached = JobPhase::kPreparing;
  if (job.stage == LaunchStage::kStarting) reached = JobPhase::kStarting;
  if (job.stage == LaunchStage::kRunning) reached = JobPhase::kRunning;
  if (head.ending) reached = JobPhase::kEnding;
  Report(step, job, reached);
}

void JobEngine::Report(StepContext& step, JobState& job, JobPhase phase) {
  const JobProgress& control = job.head->progress;
  if (std::exchange(job.head->phase, phase) != phase) {
    job.head->since = step.now;
  }
  JobChanged report;
  report.nspace = job.nspace();
  report.phase = phase;
  report.nodes_ready = job.prepare.Sum(job.Asked(self_)).count;
  report.procs_started = job.start.Sum(job.Asked(self_)).count;
  report.procs_ended = control.num_ended();
  report.notes = std::exchange(job.head->notes, {});
  report.out_of_time = job.head->out_of_time && job.head->timeout != kNever;
  if (const auto& failure = control.failure()) {
    report.exit_code = failure->exit_code;
    report.status = failure->status;
    report.first_failed = failure->rank;
    report.text = failure->text;
  }
  step.out.push_back(std::move(report));
}

void JobEngine::End(StepContext& step, JobState& job, JobFailure failure) {
  JobHead& head = *job.head;
  head.changed = true;
  const JobKill kill{job.nspace(), {}, failure.status, failure.text};
  if (head.progress.Fail(std::move(failure))) {
    Log(step, LogLine::Level::kWarning,
        "job " + job.nspace() + ": " + kill.reason);
  }
  if (std::exchange(head.ending, true)) return;
  PersistHead(step, job);
  if (job.stage == LaunchStage::kPreparing || head.progress.all_ended()) return;
  Kill(step, job, kill, job.spec->kill_grace_seconds * 1000);
}

void JobEngine::FailLaunch(StepContext& step, JobState& job,
                           const PhaseAnswer& answer) {
  const NodeError& first = answer.errors.front();
  const std::string name = first.node < node_names_.size()
                               ? node_names_[first.node]
                               : "an unknown node";
  JobFailure failure;
  failure.exit_code = kExitLaunchFailed;
  failure.status = first.status;
  failure.text = DescribeNodeError(first, name, answer.errors.size() - 1);
  End(step, job, std::move(failure));
}

void JobEngine::Finish(StepContext& step, JobState& job) {
  Report(step, job, JobPhase::kEnded);
  const auto& failure = job.head->progress.failure();
  Log(step, LogLine::Level::kInfo,
      "job " + job.nspace() + ": ended" +
          (failure ? ", exit code " + std::to_string(failure->exit_code)
                   : std::string()));
  NoteFinished(job.nspace(), &ended_everywhere_);
  SendForget(step, job);
  Drop(step, job);
}

void JobEngine::OnSignalRequested(TimeNs now, const SignalRequested& in,
                                  Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr || job->stage == LaunchStage::kPreparing) return;
  Signal(step, *job, JobSignal{in.nspace, in.signal, in.ranks});
}

void JobEngine::OnKillRequested(TimeNs now, const KillRequested& in,
                                Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr) return;
  if (in.again && job->head->kill_requests > 0) return;
  const bool first = ++job->head->kill_requests == 1;
  PersistHead(step, *job);
  if (!first) return Signal(step, *job, JobSignal{in.nspace, kSigKill, {}});
  if (in.status == kErrTimeout) {
    TimeOut(step, *job, in.reason);
  } else {
    JobFailure failure;
    failure.exit_code = kExitKilled;
    failure.status = in.status != kSuccess ? in.status : kErrJobKilledByCmd;
    failure.text =
        in.reason.empty() ? "the job was told to end" : OneLine(in.reason);
    End(step, *job, std::move(failure));
  }
  if (in.immediately && job->stage != LaunchStage::kPreparing) {
    Signal(step, *job, JobSignal{in.nspace, kSigKill, {}});
  }
  Advance(step, *job);
}

void JobEngine::OnAbort(TimeNs now, const AbortMessage& in, Actions* actions) {
  StepContext step{now, *actions};
  std::map<std::string, std::vector<Rank>> wanted;  // empty ranks: all
  if (in.targets.empty()) wanted[in.source.nspace] = {};
  for (const ProcId& target : in.targets) {
    wanted[target.nspace].push_back(target.rank);
  }
  for (auto& [nspace, ranks] : wanted) {
    JobState* job = FindControlled(nspace);
    if (job == nullptr) continue;
    const bool everyone = std::ranges::count(ranks, kRankWildcard) > 0;
    std::erase_if(ranks, [&](Rank r) { return r >= job->spec->procs.size(); });
    if (everyone || in.targets.empty()) ranks.clear();
    const bool nobody = ranks.empty() && !everyone && !in.targets.empty();
    if (!nobody) AbortJob(step, *job, in, ranks);
  }
}

void JobEngine::AbortJob(StepContext& step, JobState& job,
                         const AbortMessage& abort,
                         const std::vector<Rank>& ranks) {
  const ProcId& source = abort.source;
  const bool own =
      source.nspace == job.nspace() && source.rank < job.spec->procs.size();
  JobFailure failure;
  failure.exit_code = abort.status > 0 && abort.status < 256 ? abort.status : 1;
  failure.status = kErrJobAborted;
  if (own) failure.rank = source.rank;
  failure.text =
      own ? "rank " + std::to_string(source.rank) + " on " +
                job.spec->nodes[job.spec->procs[source.rank].node].name
          : "process " + ToString(source);
  failure.text += " called abort with status " + std::to_string(abort.status);
  if (!abort.text.empty()) failure.text += ": " + OneLine(abort.text);
  if (ranks.empty()) {
    End(step, job, std::move(failure));
  } else {
    const JobKill kill{job.nspace(), ranks, failure.status, failure.text};
    for (const Rank rank : ranks) job.head->progress.ExpectEnd(rank);
    job.head->progress.Fail(std::move(failure));
    job.head->changed = true;
    Kill(step, job, kill, job.spec->kill_grace_seconds * 1000);
  }
  Advance(step, job);
}

void JobEngine::MarkRanksLost(StepContext& step, JobState& job, NodeId node,
                              const std::string& reason) {
  const uint32_t index = job.layout->node_of_agent(node);
  if (index == kNoNode) return;
  JobProgress& control = job.head->progress;
  std::vector<Rank> lost;
  for (const Rank rank : job.layout->ranks_on(index)) {
    if (!control.ended(rank)) lost.push_back(rank);
  }
  const uint64_t streams = control.num_open_streams();
  for (const Rank rank : job.layout->ranks_on(index)) control.OnLost(rank);
  if (lost.empty() && control.num_open_streams() == streams) return;
  JobFailure failure;
  failure.exit_code = kExitNodeLost;
  failure.status = kErrNodeDown;
  failure.text = "node " + job.spec->nodes[index].name + " was lost";
  if (!reason.empty()) failure.text += " (" + OneLine(reason) + ")";
  if (lost.empty()) {
    failure.text += " before all output of its processes had arrived";
  } else {
    failure.rank = lost.front();
    failure.text += " with " + DescribeRanks(lost);
  }
  End(step, job, std::move(failure));
}

void JobEngine::OnTick(TimeNs now, Actions* actions) {
  StepContext step{now, *actions};
  if (now >= confirm_deadline_) {
    unconfirmed_members_.clear();
    confirm_deadline_ = kNever;
    ReleaseDeferred(step);
  }
  if (now >= resync_deadline_) {
    unsynced_members_.clear();
    resync_deadline_ = kNever;
    ReleaseDeferred(step);
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) {
    if (job->head) names.push_back(nspace);
  }
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    if (now >= job.head->timeout) {
      OnTimeLimit(step, job);
    } else if (now >= job.head->drain) {
      OnDrainTimeout(step, job);
    }
  }
}

void JobEngine::OnTimeLimit(StepContext& step, JobState& job) {
  JobHead& head = *job.head;
  const bool asked = std::exchange(head.out_of_time, true);
  if (job.stage == LaunchStage::kRunning && !asked && !head.ending) {
    head.timeout = step.now + kTimeoutReport;
    return Report(step, job, JobPhase::kRunning);
  }
  TimeOut(step, job, "");
  Advance(step, job);
}

void JobEngine::TimeOut(StepContext& step, JobState& job,
                        const std::string& reason) {
  job.head->timeout = kNever;
  const std::vector<Rank> left = job.head->progress.Remaining();
  JobFailure failure;
  failure.exit_code = kExitTimedOut;
  failure.status = kErrTimeout;
  failure.text = "the job ran into its time limit of " +
                 Plural(job.spec->timeout_seconds, "second", "seconds");
  if (!left.empty()) {
    failure.text += "; " + DescribeRanks(left) + " had not ended";
  }
  if (!reason.empty()) failure.text += "; " + OneLine(reason);
  End(step, job, std::move(failure));
}

TimeNs JobEngine::NextDeadline() const {
  TimeNs next = std::min(confirm_deadline_, resync_deadline_);
  for (const auto& [nspace, job] : jobs_) {
    if (!job->head) continue;
    next = std::min({next, job->head->timeout, job->head->drain});
  }
  return next;
}

}  // namespace canopy::core
