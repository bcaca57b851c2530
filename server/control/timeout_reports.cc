#include "server/control/timeout_reports.h"

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "server/control/launcher_events.h"
#include "server/control/time_limit.h"
#include "server/core/step/control_inputs.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

spawn::SpawnCall CallOf(const std::string& program, const std::string& nspace,
                        uint32_t reports) {
  spawn::SpawnCall call;
  spawn::SpawnApp& app = call.apps.emplace_back();
  app.argv = {program, nspace, "--report"};
  if ((reports & kTimeoutStates) != 0) app.argv.emplace_back("states");
  if ((reports & kTimeoutStacks) != 0) app.argv.emplace_back("stacks");
  call.request.daemons.emplace();
  call.request.daemons->target = {nspace, kRankWildcard};
  call.request.daemons->per_node = 1;
  return call;
}

}  // namespace

TimeoutReports::~TimeoutReports() {
  for (const auto& [reporter, report] : reports_) {
    loop_->CancelTimer(report.timer);
  }
}

void TimeoutReports::OnOutOfTime(const std::string& nspace) {
  const uint32_t wanted = families_->FindJob(nspace)->facts.reports &
                          (kTimeoutStates | kTimeoutStacks);
  if (wanted == 0 || families_->LauncherOf(nspace) == nullptr) {
    return End(nspace);
  }
  const Result<std::string> reporter = Begin(nspace);
  if (reporter.ok()) return;
  families_->Notice(nspace, "job " + nspace +
                                ": its processes are not looked "
                                "at: " +
                                reporter.status().message());
  End(nspace);
}

Result<std::string> TimeoutReports::Begin(const std::string& nspace) {
  const JobRecord& record = *families_->FindJob(nspace);
  const PlannedJob job = planner_.spawn(
      CallOf(planner_.stacks_program, nspace, record.facts.reports),
      {ProcId{nspace, 0}}, Placed());
  if (!job.ok()) return job.status();
  LaunchFacts facts;
  facts.tool = facts.separate = facts.apart = true;
  const std::string reporter = (*job)->nspace;
  Family* const family = families_->FindFamily(record.family);
  pipeline_->Record({*job, facts}, family);
  families_->SendMapped(families_->LauncherOf(nspace), MappedEvent(**job));
  Report& report = reports_[reporter];
  report.nspace = nspace;
  report.timer = loop_->AddTimer(kLimitNs, [this, reporter] {
    reports_.at(reporter).timer = 0;
    sink_->OnInput(core::KillRequested{reporter, kErrTimeout,
                                       "its report takes too long", true});
  });
  pipeline_->Start(reporter);
  return reporter;
}

void TimeoutReports::OnEnded(const std::string& nspace) {
  const auto report = reports_.extract(nspace);
  if (report.empty()) return;
  const auto& [job, timer] = report.mapped();
  if (timer != 0) loop_->CancelTimer(timer);
  End(job);
}

void TimeoutReports::End(const std::string& nspace) {
  const JobRecord* const record = families_->FindJob(nspace);
  if (record != nullptr) EndOutOfTime(record->job, states_, sink_);
}

}  // namespace canopy::control
