#include "server/control/job_notices.h"

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/data_range.h"
#include "server/core/event/lifecycle.h"
#include "server/core/job/text.h"
#include "server/core/step/client_inputs.h"
#include "server/spawn/job_events.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

bool Wants(const LaunchFacts& facts, uint32_t reports) {
  return (facts.reports & reports) != 0;
}

bool Wants(const JobRecord& record, uint32_t reports) {
  return Wants(record.facts, reports);
}

std::string Named(const JobRecord& record) {
  return "job " + record.job->nspace;
}

// Returns, for example, ", and is started again (restart 1 of 3)", or an empty
// string.
std::string RestartText(const JobSpec& job, const core::ProcExit& exit) {
  if (!exit.restarted) return "";
  std::string text = ", and is started again (restart " +
                     std::to_string(exit.incarnation + uint64_t{1});
  if (job.max_restarts != kUnlimitedRestarts) {
    text += " of " + std::to_string(job.max_restarts);
  }
  return text + ")";
}

}  // namespace

void JobNotices::OnJobChanged(const core::JobChanged& change,
                              JobRecord* record) const {
  const auto num_procs = static_cast<uint32_t>(record->job->procs.size());
  if (change.procs_started > 0 && !std::exchange(record->told_first, true)) {
    OnFirst(*record);
  }
  if (change.procs_started == num_procs &&
      !std::exchange(record->told_start, true)) {
    OnStarted(*record);
  }
  for (const core::ProcExit& exit : change.ends) {
    if (exit.rank >= num_procs) continue;
    // If the job succeeds, each process has failed for its own reasons, and not
    // because the job was ended.
    const bool is_cause = change.phase < core::JobPhase::kEnding ||
                          change.status == kSuccess ||
                          exit.rank == change.first_failed;
    OnProcEnded(*record, exit);
    const bool concerns_parent = is_cause && !record->parent().empty();
    if (concerns_parent && core::IsAbnormal(exit)) {
      record->failures[exit.rank] = exit;
    }
  }
  if (record->connected) TellParent(record);
  if (change.warning) OnWarning(*record->job, *change.warning);
  if (change.phase == core::JobPhase::kEnded && record->told_first) {
    OnEnded(*record, change);
  }
}

void JobNotices::OnWarning(const JobSpec& job,
                           const core::TimeWarning& warning) const {
  const ProcId all{job.nspace, kRankWildcard};
  Tell(core::IdOfTimeWarning(warning.number), core::kAllocTimeoutWarning, all,
       all, spawn::TimeWarningInfo(job.nspace, warning.seconds_left));
}

void JobNotices::OnFirst(const JobRecord& record) const {
  TellOfJob(*record.job, core::kEventJobStart, Wants(record, kNotifyJobEvents));
}

void JobNotices::OnStarted(const JobRecord& record) const {
  const JobSpec& job = *record.job;
  TellOfJob(job, core::kEventLaunchComplete, Wants(record, kNotifyJobEvents));
  if (!Wants(record, kLogJobEvents)) return;
  print_(job.nspace,
         Named(record) + " has started: " +
             core::Plural(job.procs.size(), "process", "processes"));
}

void JobNotices::OnProcEnded(const JobRecord& record,
                             const core::ProcExit& exit) const {
  const JobSpec& job = *record.job;
  const bool failed = core::IsAbnormal(exit);
  const ProcId proc{job.nspace, exit.rank};
  const bool asked = Wants(record, kNotifyProcs) ||
                     (failed && Wants(record, kNotifyFailedProcs));
  // Only the spawner is notified here. The agent of the ended process notifies
  // all other processes (end_events.h).
  if (!job.parent.nspace.empty() && exit.wait_status != core::kNeverStarted) {
    Tell(core::IdOfProcEvent(exit.incarnation,
                             core::ProcEvent::kTerminatedAsked),
         core::kEventProcTerminated, proc, job.parent,
         spawn::ProcEndInfo(proc, core::ExitCodeOf(exit), asked));
  }
  const bool logged =
      Wants(record, kLogProcs) || (failed && Wants(record, kLogFailedProcs));
  if (!logged && !exit.restarted) return;
  print_(job.nspace, Named(record) + ": " + core::DescribeExit(job, exit) +
                         RestartText(job, exit));
}

// Reports failures to the spawner's job. Called when all processes have
// started, which connects the two jobs. A process may have failed before, so
// its failure is reported late.
void JobNotices::TellParent(JobRecord* record) const {
  const JobSpec& job = *record->job;
  for (const auto& [rank, exit] : std::exchange(record->failures, {})) {
    if (record->facts.separate) continue;
    // Open MPI's default event handler ends the program. A failure that the job
    // survives is therefore reported only to handlers that name its code.
    const bool survived = exit.restarted || job.recoverable;
    const ProcId proc{job.nspace, rank};
    Tell(core::IdOfProcEvent(exit.incarnation, core::ProcEvent::kToParentJob),
         exit.restarted ? kErrProcRestart : kErrProcTermWoSync, proc,
         {job.parent.nspace, kRankWildcard},
         spawn::ProcEndInfo(proc, core::ExitCodeOf(exit), !survived));
  }
}

void JobNotices::OnEnded(const JobRecord& record,
                         const core::JobChanged& change) const {
  TellEnd(*record.job, record.facts, change);
  const bool silent = change.status == kSuccess && Wants(record, kSilentEnd);
  if (silent || !record.told_start ||
      !Wants(record, kLogJobEvents | kLogCompletion)) {
    return;
  }
  print_(record.job->nspace,
         Named(record) + " has ended" +
             (change.text.empty() ? std::string() : ": " + change.text));
}

void JobNotices::OnRecoveredEnd(const JobSpec& job, const LaunchFacts& facts,
                                const core::JobChanged& end) const {
  // With a status other than success and those that have a code of their own,
  // the job may have ended before its processes ran.
  const bool ran =
      end.status == kSuccess || core::CodeOfJobEnd(end.status) != 0;
  if (ran) TellEnd(job, facts, end);
}

// Reports the reason if the job has failed, and then that it is over. A success
// is not reported if the job requests a silent end (kSilentEnd).
void JobNotices::TellEnd(const JobSpec& job, const LaunchFacts& facts,
                         const core::JobChanged& end) const {
  const spawn::JobOutcome outcome{end.status, end.first_failed, end.exit_code};
  const auto info = [&](bool asked) {
    return spawn::JobEndInfo(job.nspace, outcome, asked);
  };
  const int code = core::CodeOfJobEnd(end.status);
  if (code != 0) TellAll(job, code, false, info(false));
  if (end.status == kSuccess && Wants(facts, kSilentEnd)) return;
  const bool asked = !job.parent.nspace.empty() &&
                     Wants(facts, kNotifyJobEvents | kNotifyCompletion);
  if (asked) {
    Tell(core::IdOfJobEvent(core::kEventJobEnd, true), core::kEventJobEnd,
         {job.nspace, kRankWildcard}, job.parent, info(true));
  }
  TellAll(job, core::kEventJobEnd, asked, info(false));
}

void JobNotices::TellOfJob(const JobSpec& job, int event, bool asked) const {
  asked = asked && !job.parent.nspace.empty();
  if (asked) {
    Tell(core::IdOfJobEvent(event, true), event, {job.nspace, kRankWildcard},
         job.parent, spawn::JobEventInfo(job.nspace, true));
  }
  TellAll(job, event, asked, spawn::JobEventInfo(job.nspace, false));
}

// Raises the event for all processes that have registered for it. A spawner
// that has requested the event gets it separately (`asked`), so it is excluded
// here.
void JobNotices::TellAll(const JobSpec& job, int event, bool asked,
                         Bytes info) const {
  std::vector<ProcId> except;
  if (asked) except.push_back(job.parent);
  sink_->OnInput(core::JobLifecycleEvent(job.nspace, event, std::move(info),
                                         std::move(except)));
}

void JobNotices::Tell(uint64_t id, int event, const ProcId& source,
                      const ProcId& target, Bytes info) const {
  core::EventRaised raised;
  raised.id = id;
  raised.status = event;
  raised.source = source;
  raised.range = static_cast<uint8_t>(core::DataRange::kCustom);
  raised.targets = {target};
  raised.info = std::move(info);
  sink_->OnInput(std::move(raised));
}

}  // namespace canopy::control
