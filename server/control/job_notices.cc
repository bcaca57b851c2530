#include "server/control/job_notices.h"

#include <utility>

#include "common/status.h"
#include "server/core/event/events.h"
#include "server/core/job/text.h"
#include "server/core/step/client_inputs.h"
#include "server/spawn/job_events.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

bool Wants(const JobRecord& record, uint32_t reports) {
  return (record.facts.reports & reports) != 0;
}

std::string Named(const JobRecord& record) {
  return "job " + record.job->nspace;
}

}  // namespace

void JobNotices::OnJobChanged(const core::JobChanged& change,
                              JobRecord* record) const {
  const auto num_procs = static_cast<uint32_t>(record->job->procs.size());
  if (change.procs_started == num_procs && !record->told_start) {
    record->told_start = true;
    OnStarted(*record);
  }
  for (const core::ProcExit& exit : change.ends) {
    if (exit.rank >= num_procs) continue;
    // In a job that ends well nobody has ended because of another.
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
  if (change.phase == core::JobPhase::kEnded && record->told_start) {
    OnEnded(*record, change);
  }
}

void JobNotices::OnStarted(const JobRecord& record) const {
  const JobSpec& job = *record.job;
  if (Wants(record, spawn::kNotifyJobEvents)) {
    for (const int event :
         {spawn::kEventJobStart, spawn::kEventLaunchComplete}) {
      Tell(event, {job.nspace, kRankWildcard}, job.parent,
           spawn::JobEventInfo(job.nspace));
    }
  }
  if (!Wants(record, spawn::kLogJobEvents)) return;
  print_(job.nspace,
         Named(record) + " has started: " +
             core::Plural(job.procs.size(), "process", "processes"));
}

void JobNotices::OnProcEnded(const JobRecord& record,
                             const core::ProcExit& exit) const {
  const JobSpec& job = *record.job;
  const bool failed = core::IsAbnormal(exit);
  const ProcId proc{job.nspace, exit.rank};
  if (Wants(record, spawn::kNotifyProcs) ||
      (failed && Wants(record, spawn::kNotifyFailedProcs))) {
    Tell(spawn::kEventProcTerminated, proc, job.parent,
         spawn::ProcEndInfo(proc, core::ExitCodeOf(exit), /*asked=*/true));
  }
  if (Wants(record, spawn::kLogProcs) ||
      (failed && Wants(record, spawn::kLogFailedProcs))) {
    print_(job.nspace, Named(record) + ": " + core::DescribeExit(job, exit) +
                           (exit.restarted ? ", and is started again" : ""));
  }
}

// A process may fail before the last one has started, which is when the jobs
// are connected.
void JobNotices::TellParent(JobRecord* record) const {
  const JobSpec& job = *record->job;
  for (const auto& [rank, exit] : std::exchange(record->failures, {})) {
    if (record->facts.separate) continue;
    // Open MPI ends in a handler that gets everything; what the job survives is
    // for those who ask.
    const bool survived = exit.restarted || job.recoverable;
    const ProcId proc{job.nspace, rank};
    Tell(exit.restarted ? kErrProcRestart : kErrProcTermWoSync, proc,
         {job.parent.nspace, kRankWildcard},
         spawn::ProcEndInfo(proc, core::ExitCodeOf(exit), !survived));
  }
}

void JobNotices::OnEnded(const JobRecord& record,
                         const core::JobChanged& change) const {
  const JobSpec& job = *record.job;
  const bool silent =
      change.status == kSuccess && Wants(record, spawn::kSilentEnd);
  if (silent) return;
  if (Wants(record, spawn::kNotifyJobEvents | spawn::kNotifyCompletion)) {
    Tell(spawn::kEventJobEnd, {job.nspace, kRankWildcard}, job.parent,
         spawn::JobEndInfo(job.nspace, {change.status, change.first_failed,
                                        change.exit_code}));
  }
  if (!Wants(record, spawn::kLogJobEvents | spawn::kLogCompletion)) return;
  print_(job.nspace,
         Named(record) + " has ended" +
             (change.text.empty() ? std::string() : ": " + change.text));
}

void JobNotices::Tell(int event, const ProcId& source, const ProcId& target,
                      Bytes info) const {
  core::EventRaised raised;
  raised.status = event;
  raised.source = source;
  raised.range = static_cast<uint8_t>(core::EventRange::kCustom);
  raised.targets = {target};
  raised.info = std::move(info);
  sink_->OnInput(std::move(raised));
}

}  // namespace canopy::control
