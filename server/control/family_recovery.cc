#include "server/control/family_recovery.h"

#include <algorithm>
#include <optional>

#include "server/control/kills.h"
#include "server/control/launcher_events.h"
#include "server/control/recovered_requests.h"
#include "server/core/step/control_inputs.h"

namespace canopy::control {

void FamilyRecovery::Recover(const std::vector<PersistedJob>& jobs) {
  std::map<std::string, std::vector<const PersistedJob*>> families;
  for (const PersistedJob& job : jobs) families[job.token].push_back(&job);
  for (const auto& [token, members] : families) RecoverFamily(token, members);
}

void FamilyRecovery::RecoverFamily(
    const std::string& token, const std::vector<const PersistedJob*>& jobs) {
  const auto first = std::ranges::find_if(jobs, [](const PersistedJob* job) {
    return job->job->parent.nspace.empty();
  });
  Family* const family = families_->AddFamily(
      (first == jobs.end() ? jobs.front() : *first)->job->nspace);
  family->token = token;
  family->input_done.reset();
  for (const PersistedJob* job : jobs) family->Add(job->job->nspace);
  for (const RecoveredRequest& request : RecoveredRequests(jobs)) {
    requests_->Recover(request);
  }
  for (const PersistedJob* job : jobs) {
    if (job->facts.requeued) {
      family->requeued = RequeuedOf(*job->job, job->facts.placed, "");
    }
    RecoverJob(*job, family);
  }
  if (!family->over()) {
    if (!family->unattended) return AwaitLauncher(token);
    // The call is posted, because the core has no jobs before the loop runs.
    loop_->Post([this, token] { GoOnWithout(token); });
    return;
  }
  Keep(*family);
  families_->RemoveFamily(family->id);
}

void FamilyRecovery::RecoverJob(const PersistedJob& persisted, Family* family) {
  const JobSpec& job = *persisted.job;
  const LaunchFacts& facts = persisted.facts;
  if (!persisted.end) {
    JobRecord& record = families_->AddJob(family, persisted.job, facts);
    record.since = persisted.since;
    record.connected = facts.spawn_request && !requests_->Awaits(job.nspace);
    if (facts.unattended) family->unattended = true;
    return;
  }
  v1::JobEnd end;
  end.ParseFromString(*persisted.end);
  tell_end_(persisted, end);
  family->OnEnded(job.nspace, CountsForFamily(facts) ? end : v1::JobEnd());
  family->KeepRecord(job.nspace, job.parent, facts.spawn_request.value_or(0));
  if (end.status() == kSuccess || facts.separate) return;
  // The predecessor may not have ended the jobs that end with this job. The
  // core has all jobs once the loop runs.
  loop_->Post([this, ended = persisted.job, facts] {
    KillConsequences(*ended, facts, true, families_->jobs(), sink_);
  });
}

void FamilyRecovery::Keep(const Family& family) {
  ended_[family.token] = {family.kept(), family.Conclusion(),
                          family.killed ? std::nullopt : family.requeued};
  AwaitLauncher(family.token);
}

void FamilyRecovery::AwaitLauncher(const std::string& token) {
  loop_->AddTimer(int64_t{timeout_ms_} * 1000000,
                  [this, token] { OnTimeout(token); });
}

void FamilyRecovery::OnTimeout(const std::string& token) {
  if (const auto ended = ended_.extract(token)) {
    for (const std::string& job : ended.mapped().jobs) {
      families_->persistence()->DropControl(job);
    }
    return;
  }
  GoOnWithout(token);
}

void FamilyRecovery::GoOnWithout(const std::string& token) {
  Family* const family = families_->FamilyOfToken(token);
  if (family == nullptr || families_->FindLauncher(family->launcher)) return;
  families_->Abandon(family);
  for (const std::string& job : family->jobs()) {
    sink_->OnInput(core::LauncherReattached{job, std::nullopt});
  }
  resume_(family);
  KillAbandoned(*families_, family, "the launcher did not come back", sink_);
}

void FamilyRecovery::OnReattach(uint64_t id, Launcher* launcher,
                                const v1::Reattach& reattach) {
  if (launcher->family != 0 || reattach.token().empty()) return;
  launcher->requeues = reattach.requeues();
  launcher->adds_hosts = reattach.adds_hosts();
  Family* const family = families_->FamilyOfToken(reattach.token());
  if (family != nullptr && !family->unattended) {
    return Reattach(id, launcher, family, reattach);
  }
  const auto ended = ended_.extract(reattach.token());
  v1::RunEvent event;
  event.mutable_reattached()->set_known(!ended.empty());
  if (ended.empty()) event.mutable_reattached()->set_input_done(0);
  launcher->Send(std::move(event));
  if (ended.empty()) return;
  const Ended& was = ended.mapped();
  // A launcher that ends its job must not request the job again.
  if (was.requeued && !reattach.has_kill()) {
    return launcher->Requeue(was.jobs, *was.requeued);
  }
  launcher->End(was.jobs, was.end);
}

void FamilyRecovery::Reattach(uint64_t id, Launcher* launcher, Family* family,
                              const v1::Reattach& reattach) {
  if (Launcher* const before = families_->FindLauncher(family->launcher)) {
    before->family = 0;
    before->Finish();
  }
  families_->Attach(id, family);
  Welcome(launcher, family, reattach);
  for (const std::string& job : family->jobs()) {
    ReattachOutput(launcher, *family, job, reattach);
  }
  resume_(family);
  if (!reattach.has_kill()) return;
  core::KillRequested kill{"", kErrJobKilledByCmd, reattach.kill().reason(),
                           reattach.kill().immediately()};
  kill.again = !kill.immediately;
  KillFamily(family, std::move(kill), sink_);
}

void FamilyRecovery::Welcome(Launcher* launcher, Family* family,
                             const v1::Reattach& reattach) {
  if (reattach.has_input_begin() && !family->input_done) {
    family->input_done = reattach.input_begin();
  }
  const JobRecord* const first = families_->FindJob(family->first());
  if (reattach.received_size() == 0 && first != nullptr) {
    families_->SendMapped(launcher, MappedEvent(*first));
  }
  v1::RunEvent event;
  event.mutable_reattached()->set_known(true);
  if (family->input_done) {
    event.mutable_reattached()->set_input_done(*family->input_done);
  }
  launcher->Send(std::move(event));
}

// Reattaches the output of a job. A launcher that does not list a spawned job
// does not know this job yet, and gets its map first.
void FamilyRecovery::ReattachOutput(Launcher* launcher, const Family& family,
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
    families_->SendMapped(launcher, MappedEvent(*families_->FindJob(nspace)));
  }
  sink_->OnInput(std::move(reattached));
}

}  // namespace canopy::control
