#include "server/control/host_commands.h"

#include <signal.h>

#include <memory>
#include <utility>

#include "server/control/launch_facts.h"
#include "server/control/launcher_events.h"
#include "server/control/placement_request.h"
#include "server/core/step/control_inputs.h"

namespace canopy::control {
namespace {

Caller CallerFor(const std::optional<HostOwner>& owner) {
  if (!owner) return OwnUser();
  return {owner->uid, owner->uid, owner->name};
}

}  // namespace

HostCommands::HostCommands(const Parts& parts)
    : p_(parts),
      hosted_(parts.loop, parts.families, parts.launchers,
              parts.planner->warn) {}

std::vector<std::string> HostCommands::HostJobs(
    const std::string& host_job) const {
  std::vector<std::string> names;
  // An empty name selects no job, because it is the name of the jobs that the
  // host has not named.
  if (host_job.empty()) return names;
  for (const auto& [nspace, record] : p_.families->jobs()) {
    const PlacementFacts& placed = record.facts.placed;
    if (placed.any() && placed.host_job == host_job) names.push_back(nspace);
  }
  return names;
}

Status HostCommands::KillHostJob(const std::string& host_job,
                                 const std::string& reason, bool immediately) {
  const std::vector<std::string> names = HostJobs(host_job);
  if (names.empty()) return {kErrNotFound, "no such job runs"};
  for (const std::string& nspace : names) {
    p_.sink->OnInput(
        core::KillRequested{nspace, kErrJobKilledByCmd, reason, immediately});
  }
  return {};
}

Status HostCommands::SignalHostJob(const std::string& host_job, int signal) {
  const std::vector<std::string> names = HostJobs(host_job);
  if (names.empty()) return {kErrNotFound, "no such job runs"};
  for (const std::string& nspace : names) {
    p_.sink->OnInput(core::SignalRequested{nspace, signal, {}});
  }
  return {};
}

// Suspends or resumes a job. The new state is persisted, so that a successor
// reports it too.
Status HostCommands::SuspendHostJob(const std::string& host_job,
                                    bool suspended) {
  Status status = SignalHostJob(host_job, suspended ? SIGSTOP : SIGCONT);
  for (const std::string& nspace : HostJobs(host_job)) {
    JobRecord* const record = p_.families->FindJob(nspace);
    record->facts.suspended = suspended;
    if (!record->token.empty()) {
      p_.families->persistence()->PersistFacts(nspace, record->facts);
    }
    p_.placements->Suspended(*record);
  }
  return status;
}

Status HostCommands::SetHostTimeLimit(const std::string& host_job,
                                      uint32_t seconds, uint32_t warn_seconds) {
  const std::vector<std::string> names = HostJobs(host_job);
  if (names.empty()) return {kErrNotFound, "no such job runs"};
  for (const std::string& nspace : names) {
    p_.sink->OnInput(core::TimeLimitSet{nspace, seconds, warn_seconds});
  }
  return {};
}

Status HostCommands::MayRequeue(const JobRecord& record) const {
  const Family& family = *p_.families->FindFamily(record.family);
  if (!record.parent().empty()) {
    return {kErrNotSupported, "a process has spawned it, and awaits it"};
  }
  if (family.launcher == 0 && family.token.empty()) {
    return {kErrNotSupported, "it has no launcher that could request it again"};
  }
  const Launcher* const launcher = p_.families->FindLauncher(family.launcher);
  if (launcher == nullptr) return {kErrUnreach, "its launcher is not there"};
  if (record.phase >= core::JobPhase::kEnding || family.killed) {
    return {kErrInvalidOperation, "it is being ended"};
  }
  if (!launcher->requeues) {
    return {kErrNotSupported, "its launcher cannot request it again"};
  }
  if (family.input_done.value_or(1) != 0) {
    return {kErrNotSupported, "it has read from its standard input"};
  }
  return {};
}

Status HostCommands::Requeue(JobRecord* record, const std::string& reason) {
  if (Status may = MayRequeue(*record); !may.ok()) return may;
  Family* const family = p_.families->FindFamily(record->family);
  family->requeued = RequeuedOf(*record->job, record->facts.placed, reason);
  record->facts.requeued = true;
  // The facts are persisted, so that a successor requests the same of the
  // launcher.
  if (!family->token.empty()) {
    p_.families->persistence()->PersistFacts(record->job->nspace,
                                             record->facts);
  }
  return {};
}

Status HostCommands::RequeueHostJob(const std::string& host_job,
                                    const std::string& reason) {
  const std::vector<std::string> names = HostJobs(host_job);
  if (names.empty()) return {kErrNotFound, "no such job runs"};
  JobRecord* const record = p_.families->FindJob(names[0]);
  if (Status status = Requeue(record, reason); !status.ok()) return status;
  const Family& family = *p_.families->FindFamily(record->family);
  for (const std::string& job : family.jobs()) {
    p_.sink->OnInput(core::KillRequested{
        job, kErrJobKilledByCmd,
        "its scheduler puts it back into the queue: " + reason});
  }
  return {};
}

// Two owners with one number could see each other's jobs, so the second waits
// until the first has none.
Status HostCommands::MayOwn(const std::optional<HostOwner>& owner) const {
  if (!owner) {
    if (!p_.planner->serves_all_users) return {};
    return {kErrNotSupported,
            "these agents serve all users, and the job of a scheduler has no "
            "user"};
  }
  for (const auto& [nspace, record] : p_.families->known_jobs()) {
    if (record.job->uid != owner->uid || record.job->user == owner->name) {
      continue;
    }
    return {kErrExists, "jobs of '" + record.job->user +
                            "' have the number of '" + owner->name + "'"};
  }
  return {};
}

// Launches a job for the host. The job is mapped before its files are opened,
// so that these are unchanged if the mapping fails.
void HostCommands::LaunchHostJob(const HostLaunch& in, Launched done) {
  if (Status may = MayOwn(in.owner); !may.ok()) return done(may);
  if (p_.families->HasJobOn(in.id) || hosted_.Begins(in.id) ||
      p_.placements->Waiting(in.id.request)) {
    return done(Status(kErrExists, "there is a job of that request"));
  }
  const Placed placed{in.id, in.grant, WallClockMs(), 0,
                      p_.planner->new_name()};
  const PlannedJob plan =
      p_.planner->launch(in.job, CallerFor(in.owner), placed);
  if (!plan.ok()) return done(plan.status());
  if (Status may = p_.pipeline->MayRecord(**plan); !may.ok()) return done(may);
  hosted_.Begin(
      in.id, (*plan)->nspace, in.output,
      [this, in, placed, done = std::move(done)](const Result<uint64_t>& id) {
        done(id.ok() ? LaunchHosted(*id, in, placed)
                     : Result<std::string>(id.status()));
      });
}

// Launches the job when its files are open. The job is mapped again, because
// nodes may have been lost meanwhile.
Result<std::string> HostCommands::LaunchHosted(uint64_t launcher,
                                               const HostLaunch& in,
                                               const Placed& placed) {
  PlannedJob plan = p_.planner->launch(in.job, CallerFor(in.owner), placed);
  const Status may = plan.ok() ? p_.pipeline->MayRecord(**plan) : plan.status();
  if (!may.ok()) {
    hosted_.Remove(launcher);
    return may;
  }
  LaunchFacts facts = FactsOf(in.job, placed);
  facts.host_output = in.output;
  JobRecord& record = p_.pipeline->Record({*plan, facts}, /*family=*/nullptr);
  record.token = HostedJobs::NewToken();
  p_.families->Attach(launcher, p_.families->FindFamily(record.family));
  p_.pipeline->Start((*plan)->nspace);
  return (*plan)->nspace;
}

std::string HostCommands::HostLaunched(const PlacementId& id) const {
  for (const auto& [nspace, record] : p_.families->jobs()) {
    if (record.facts.host_output && record.facts.placed.id == id) return nspace;
  }
  return "";
}

Status HostCommands::DrainNode(const std::string& name,
                               const std::string& reason) {
  return p_.planner->drain(
      name, reason.empty() ? "at the scheduler's request" : reason);
}

Status HostCommands::ResumeNode(const std::string& name) {
  return p_.planner->drain(name, "");
}

}  // namespace canopy::control
