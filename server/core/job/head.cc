// Decides when a job runs, when and why it must end, and when it is over.
#include "server/core/job/head.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/time_units.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// Time for which a job that has exceeded its time limit waits for the
// launcher's report before it is ended.
constexpr TimeNs kTimeoutReport = 30 * kNsPerSecond;
constexpr int kSigKill = 9;

}  // namespace

JobHead::JobHead(JobPart& part, const std::vector<std::string>& node_names,
                 bool persists)
    : part_(part),
      node_names_(node_names),
      progress_(part.spec()),
      streams_(part, progress_),
      persistence_(persists) {}

void JobHead::Launch(const JobStep& step, const LaunchRequested& in) {
  const JobSpec& spec = *part_.spec();
  since_ = step.now;
  check_only_ = in.check_only;
  streams_.set_acknowledges(in.acknowledges);
  if (spec.timeout_seconds > 0) {
    timeout_ = step.now + spec.timeout_seconds * kNsPerSecond;
  }
  counted_from_ = step.now;
  step.Log(LogLine::Level::kInfo,
           "job " + spec.nspace + ": launching " +
               Plural(spec.procs.size(), "process", "processes") + " on " +
               Plural(spec.nodes.size(), "node", "nodes"));
  Persist(step);
}

// ------------------------------------------------------------- advancing ---

bool JobHead::Advance(const JobStep& step) {
  BeginStart(step);
  part_.Advance();
  const JobPartState state = part_.state();
  const bool starting = state != JobPartState::kPreparing;
  const PhaseAnswer answer =
      starting ? part_.answers().Started() : part_.answers().Prepared();
  if (!answer.errors.empty() && !ending_) FailLaunch(step, answer);
  Persist(step);
  if (!starting && ending_) return Finish(step);
  if (state == JobPartState::kRunning) {
    streams_.SendInput(step);
    if (progress_.all_ended() && streams_.AllDelivered(step)) {
      return Finish(step);
    }
  }
  if (std::exchange(changed_, false)) Report(step, Phase());
  return false;
}

// The second phase begins when all nodes are prepared. A successor that finds
// the start persisted continues with it, so the record precedes the messages.
void JobHead::BeginStart(const JobStep& step) {
  if (part_.state() != JobPartState::kPreparing || ending_ ||
      !part_.answers().AllPrepared()) {
    return;
  }
  PhaseAnswer sum = part_.answers().Prepared();
  if (!sum.errors.empty()) return;
  changed_ = true;
  notes_ = std::move(sum.notes);
  if (check_only_) {
    ending_ = true;
    return;
  }
  port_ = sum.port;
  Persist(step, true);
  part_.Start(step, port_);
}

int JobHead::status() const {
  if (const auto& failure = progress_.failure()) return failure->status;
  return Phase() == JobPhase::kPreparing || Phase() == JobPhase::kStarting
             ? kLaunching
             : kSuccess;
}

JobPhase JobHead::Phase() const {
  if (ending_) return JobPhase::kEnding;
  switch (part_.state()) {
    case JobPartState::kPreparing:
      return JobPhase::kPreparing;
    case JobPartState::kStarting:
      return JobPhase::kStarting;
    default:
      return JobPhase::kRunning;
  }
}

void JobHead::Report(const JobStep& step, JobPhase phase) {
  if (std::exchange(phase_, phase) != phase) since_ = step.now;
  JobChanged report;
  report.nspace = part_.nspace();
  report.phase = phase;
  report.nodes_ready = part_.answers().Prepared().count;
  report.procs_started = part_.answers().Started().count;
  report.procs_ended = progress_.num_ended();
  report.notes = std::exchange(notes_, {});
  report.ends = std::exchange(ends_, {});
  report.warning = std::exchange(warning_, std::nullopt);
  report.out_of_time = out_of_time_ && timeout_ != kNever;
  report.used = progress_.used();
  if (const auto& failure = progress_.failure()) {
    report.exit_code = failure->exit_code;
    report.status = failure->status;
    report.first_failed = failure->rank;
    report.text = failure->text;
  }
  step.out.push_back(std::move(report));
}

bool JobHead::Finish(const JobStep& step) {
  Report(step, JobPhase::kEnded);
  const auto& failure = progress_.failure();
  step.Log(LogLine::Level::kInfo,
           "job " + part_.nspace() + ": ended" +
               (failure ? ", exit code " + std::to_string(failure->exit_code)
                        : std::string()));
  return true;
}

// ---------------------------------------------------------------- ending ---

// The state is persisted before the kill is sent, because a successor must not
// mistake the ends that the kill causes for failures of the ranks.
void JobHead::End(const JobStep& step, JobFailure failure) {
  changed_ = true;
  const JobKill kill{part_.nspace(), {}, failure.status, failure.text};
  if (progress_.Fail(std::move(failure))) {
    step.Log(LogLine::Level::kWarning,
             "job " + part_.nspace() + ": " + kill.reason, part_.spec()->uid);
  }
  if (std::exchange(ending_, true)) return;
  warn_at_ = kNever;
  Persist(step);
  // In these cases no process runs, and the job is over as soon as it advances.
  if (part_.state() == JobPartState::kPreparing || progress_.all_ended()) {
    return;
  }
  part_.Kill(step, kill);
}

void JobHead::FailLaunch(const JobStep& step, const PhaseAnswer& answer) {
  const NodeError& first = answer.errors.front();
  const std::string name = first.node < node_names_.size()
                               ? node_names_[first.node]
                               : "an unknown node";
  JobFailure failure;
  failure.exit_code = kExitLaunchFailed;
  failure.status = first.status;
  failure.text = DescribeNodeError(first, name, answer.errors.size() - 1);
  End(step, std::move(failure));
}

void JobHead::OnExit(const JobStep& step, const ProcExit& exit) {
  changed_ = true;
  ends_.push_back(exit);
  if (exit.restarted) return;
  // The rank never had a process that could close its streams.
  if (exit.wait_status == kNeverStarted) streams_.CloseAll(exit.rank);
  if (auto failure = progress_.OnExit(exit)) {
    OnRankFailed(step, std::move(*failure));
  }
}

void JobHead::OnRankFailed(const JobStep& step, JobFailure failure) {
  if (!part_.spec()->recoverable) return End(step, std::move(failure));
  changed_ = true;
  step.Log(LogLine::Level::kInfo,
           "job " + part_.nspace() + " continues: " + failure.text);
  progress_.Tolerate(std::move(failure));
}

// Output that a node had not delivered when it was lost is a failure as well,
// even if all of its processes ended well.
void JobHead::OnNodeLost(const JobStep& step, NodeId node,
                         const std::string& reason) {
  streams_.OnNodeLost(step);
  const JobLayout& layout = *part_.layout();
  const uint32_t index = layout.node_of_agent(node);
  if (index == kNoNode) return;
  std::vector<Rank> lost;
  bool output_lost = false;
  for (const Rank rank : layout.ranks_on(index)) {
    if (!progress_.ended(rank)) {
      lost.push_back(rank);
      ProcExit exit{rank, kSigKill};
      exit.incarnation = part_.IncarnationOf(rank);
      ends_.push_back(exit);
    }
    progress_.OnLost(rank);
    if (streams_.CloseAll(rank)) output_lost = true;
  }
  if (lost.empty() && !output_lost) return;
  JobFailure failure;
  failure.exit_code = kExitNodeLost;
  failure.status = kErrNodeDown;
  failure.text = "node " + part_.spec()->nodes[index].name + " was lost";
  if (!reason.empty()) failure.text += " (" + OneLine(reason) + ")";
  if (lost.empty()) {
    failure.text += " before all output of its processes had arrived";
  } else {
    failure.rank = lost.front();
    failure.text += " with " + DescribeRanks(lost);
  }
  OnRankFailed(step, std::move(failure));
}

void JobHead::OnSignalRequested(const JobStep& step,
                                const SignalRequested& in) const {
  if (part_.state() == JobPartState::kPreparing) return;
  part_.Signal(step, JobSignal{in.nspace, in.signal, in.ranks});
}

// The second request ends the grace period. A launcher that has reattached
// repeats a request that may have been lost (`in.again`), which does not count
// as the second one.
bool JobHead::OnKillRequested(const JobStep& step, const KillRequested& in) {
  if (in.again && kill_requests_ > 0) return false;
  const bool first = ++kill_requests_ == 1;
  const JobSignal sigkill{in.nspace, kSigKill, {}};
  Persist(step);
  if (!first) {
    part_.Signal(step, sigkill);
    return false;
  }
  if (in.status == kErrTimeout) {
    TimeOut(step, in.reason);
  } else {
    JobFailure failure;
    failure.exit_code = kExitKilled;
    failure.status = in.status != kSuccess ? in.status : kErrJobKilledByCmd;
    failure.text =
        in.reason.empty() ? "the job was told to end" : OneLine(in.reason);
    End(step, std::move(failure));
  }
  if (in.immediately && part_.state() != JobPartState::kPreparing) {
    part_.Signal(step, sigkill);
  }
  return Advance(step);
}

bool JobHead::Abort(const JobStep& step, const AbortMessage& abort,
                    const std::vector<Rank>& ranks) {
  const JobSpec& spec = *part_.spec();
  const ProcId& source = abort.source;
  const bool own =
      source.nspace == spec.nspace && source.rank < spec.procs.size();
  JobFailure failure;
  failure.exit_code = abort.status > 0 && abort.status < 256 ? abort.status : 1;
  failure.status = kErrJobAborted;
  if (own) failure.rank = source.rank;
  failure.text = own ? "rank " + std::to_string(source.rank) + " on " +
                           spec.nodes[spec.procs[source.rank].node].name
                     : "process " + ToString(source);
  failure.text += " called abort with status " + std::to_string(abort.status);
  // Open MPI passes "N/A" for an abort without a text.
  const bool has_text = !abort.text.empty() && abort.text != "N/A";
  if (has_text) failure.text += ": " + OneLine(abort.text);
  EndTargets(step, std::move(failure), ranks);
  return Advance(step);
}

bool JobHead::EndRanks(const JobStep& step, const std::string& reason,
                       const std::vector<Rank>& ranks, bool immediately) {
  JobFailure failure;
  failure.exit_code = kExitKilled;
  failure.status = kErrJobKilledByCmd;
  failure.text = OneLine(reason);
  EndTargets(step, std::move(failure), ranks);
  if (immediately && part_.state() != JobPartState::kPreparing) {
    part_.Signal(step, JobSignal{part_.nspace(), kSigKill, ranks});
  }
  return Advance(step);
}

void JobHead::EndTargets(const JobStep& step, JobFailure failure,
                         const std::vector<Rank>& ranks) {
  if (ranks.empty()) return End(step, std::move(failure));
  const JobKill kill{part_.nspace(), ranks, failure.status, failure.text};
  // If these ends were not expected, they would count as failures and end the
  // rest of the job.
  for (const Rank rank : ranks) progress_.ExpectEnd(rank);
  progress_.Fail(std::move(failure));
  changed_ = true;
  part_.Kill(step, kill);
}

// --------------------------------------------------------------- streams ---

bool JobHead::OnOutput(const JobStep& step, const OutputData& output) {
  return streams_.OnOutput(step, output) && Advance(step);
}

bool JobHead::OnOutputConsumed(const JobStep& step, const OutputConsumed& in) {
  return streams_.OnConsumed(step, in) && Advance(step);
}

bool JobHead::OnInputOffered(const JobStep& step, const InputOffered& in) {
  streams_.OfferInput(in);
  return Advance(step);
}

bool JobHead::OnLauncherReattached(const JobStep& step,
                                   const LauncherReattached& in) {
  changed_ = true;
  streams_.OnLauncherReattached(step, in);
  return Advance(step);
}

// ------------------------------------------------------------------ time ---

TimeNs JobHead::NextDeadline() const {
  return std::min({timeout_, warn_at_, streams_.drain_deadline()});
}

void JobHead::OnTimeLimitSet(const JobStep& step, const TimeLimitSet& in) {
  if (ending_ || out_of_time_) return;
  ++limits_;
  counted_from_ = step.now;
  timeout_ = in.seconds == 0 ? kNever : step.now + in.seconds * kNsPerSecond;
  const bool warns = in.seconds != 0 && in.warn_seconds != 0;
  warn_at_ = warns ? timeout_ - in.warn_seconds * kNsPerSecond : kNever;
  if (step.now >= warn_at_) return Warn(step);
  Persist(step);
}

// The state is persisted after the warning was reported. If a successor repeats
// the warning, no harm is done, because the event has an identity.
void JobHead::Warn(const JobStep& step) {
  warn_at_ = kNever;
  const TimeNs left = std::max<TimeNs>(timeout_ - step.now, 0);
  warning_ = {limits_,
              static_cast<uint32_t>((left + kNsPerSecond - 1) / kNsPerSecond)};
  Report(step, Phase());
  Persist(step);
}

void JobHead::PutOff(const JobStep& step) {
  if (step.holds == nullptr || out_of_time_) return;
  const std::string& nspace = part_.nspace();
  timeout_ = step.holds->DueAt(step.now, counted_from_, timeout_, nspace);
  warn_at_ = step.holds->DueAt(step.now, counted_from_, warn_at_, nspace);
  counted_from_ = step.now;
}

void JobHead::OnHoldEnded(const JobStep& step) {
  PutOff(step);
  Persist(step);
}

bool JobHead::OnTick(const JobStep& step) {
  if (step.now >= std::min(timeout_, warn_at_)) PutOff(step);
  if (step.now >= warn_at_) Warn(step);
  if (step.now >= timeout_) return OnTimeLimit(step);
  if (step.now < streams_.drain_deadline()) return false;
  return streams_.OnDrainTimeout(step) && Finish(step);
}

// The launcher gets time to collect a report of the operations for which the
// job waits.
bool JobHead::OnTimeLimit(const JobStep& step) {
  const bool asked = std::exchange(out_of_time_, true);
  if (part_.state() == JobPartState::kRunning && !asked && !ending_) {
    timeout_ = step.now + kTimeoutReport;
    Report(step, JobPhase::kRunning);
    return false;
  }
  TimeOut(step, "");
  return Advance(step);
}

void JobHead::TimeOut(const JobStep& step, const std::string& reason) {
  timeout_ = kNever;
  const std::vector<Rank> left = progress_.Remaining();
  JobFailure failure;
  failure.exit_code = kExitTimedOut;
  failure.status = kErrTimeout;
  failure.text =
      limits_ > 0
          ? "the job ran into the time limit that its scheduler has set"
          : "the job ran into its time limit of " +
                Plural(part_.spec()->timeout_seconds, "second", "seconds");
  if (!left.empty()) {
    failure.text += "; " + DescribeRanks(left) + " had not ended";
  }
  if (!reason.empty()) failure.text += "; " + OneLine(reason);
  End(step, std::move(failure));
}

}  // namespace canopy::core
