// The job manager of a successor, and launchers that reattach to it.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/control/job_manager.h"
#include "server/control/launcher_events.h"
#include "server/control/recovered_requests.h"

namespace canopy::control {

void JobManager::Recover(const std::vector<PersistedJob>& jobs) {
  std::map<std::string, std::vector<const PersistedJob*>> families;
  for (const PersistedJob& job : jobs) families[job.token].push_back(&job);
  for (const auto& [token, members] : families) RecoverFamily(token, members);
}

void JobManager::RecoverFamily(const std::string& token,
                               const std::vector<const PersistedJob*>& jobs) {
  const auto first = std::ranges::find_if(jobs, [](const PersistedJob* job) {
    return job->job->parent.nspace.empty();
  });
  const FamilyEntry entry =
      MakeFamily((first == jobs.end() ? jobs.front() : *first)->job->nspace);
  Family& family = entry->second;
  family.token = token;
  family.input_done.reset();
  for (const PersistedJob* job : jobs) family.Add(job->job->nspace);
  for (const RecoveredRequest& request : RecoveredRequests(jobs)) {
    spawns_.Recover(request);
  }
  for (const PersistedJob* job : jobs) RecoverJob(*job, entry);
  if (family.over()) {
    ended_[token] = {family.kept(), family.Conclusion()};
    families_.erase(entry);
  }
  AwaitLauncher(token);
}

void JobManager::RecoverJob(const PersistedJob& persisted, FamilyEntry family) {
  const JobSpec& job = *persisted.job;
  const LaunchFacts& facts = persisted.facts;
  if (!persisted.end) {
    JobRecord& record = AddJob(family, persisted.job, facts);
    record.since = persisted.since;
    record.connected = facts.spawn_request && !spawns_.Awaits(job.nspace);
    return;
  }
  v1::JobEnd end;
  end.ParseFromString(*persisted.end);
  family->second.OnEnded(job.nspace, end);
  family->second.KeepRecord(job.nspace, job.parent,
                            facts.spawn_request.value_or(0));
  if (end.status() == kSuccess || facts.separate) return;
  // The predecessor may not have come to end what ends with it. The core has
  // all jobs once the loop runs.
  loop_->Post([this, ended = persisted.job] { EndTogether(*ended, true); });
}

void JobManager::AwaitLauncher(const std::string& token) {
  loop_->AddTimer(int64_t{reattach_timeout_ms_} * 1000000,
                  [this, token] { OnReattachTimeout(token); });
}

void JobManager::OnReattachTimeout(const std::string& token) {
  if (const auto ended = ended_.extract(token)) {
    for (const std::string& job : ended.mapped().jobs) {
      persistence_->DropControl(job);
    }
    return;
  }
  for (auto& [id, family] : families_) {
    if (family.token != token || launchers_.contains(family.launcher)) continue;
    Abandon(&family);
    for (const std::string& job : family.jobs()) {
      sink_->OnInput(core::LauncherReattached{job, std::nullopt});
    }
    ReleaseSpawns(&family);
    return Kill(family, {"", kErrJobKilledByCmd,
                         "the launcher did not come "
                         "back"});
  }
}

void JobManager::ReleaseSpawns(Family* family) {
  for (const core::HostSpawn& spawn : std::exchange(family->held_spawns, {})) {
    OnSpawn(spawn);
  }
}

// Without a record, what is left of the jobs ends with this agent.
void JobManager::Abandon(Family* family) {
  family->abandoned = true;
  if (std::exchange(family->token, "").empty()) return;
  for (const std::string& job : family->jobs()) persistence_->DropControl(job);
  for (const std::string& job : family->kept()) persistence_->DropControl(job);
}

size_t JobManager::num_bound() const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [&](const auto& job) {
    const Family& family = families_.at(job.second.family);
    return family.token.empty() && !family.abandoned;
  }));
}

void JobManager::AnnounceHandover(uint32_t ms) {
  for (auto& [id, launcher] : launchers_) {
    if (launcher.family == 0) continue;
    v1::RunEvent event;
    event.set_planned_downtime_ms(ms);
    launcher.Send(std::move(event));
  }
}

void JobManager::Reattach(uint64_t id, Launcher* launcher,
                          const v1::Reattach& reattach) {
  if (launcher->family != 0 || reattach.token().empty()) return;
  for (auto it = families_.begin(); it != families_.end(); ++it) {
    if (it->second.token != reattach.token()) continue;
    return ReattachTo(id, launcher, it, reattach);
  }
  const auto ended = ended_.extract(reattach.token());
  v1::RunEvent event;
  event.mutable_reattached()->set_known(!ended.empty());
  if (ended.empty()) event.mutable_reattached()->set_input_done(0);
  launcher->Send(std::move(event));
  if (ended) launcher->End(ended.mapped().jobs, ended.mapped().end);
}

void JobManager::ReattachTo(uint64_t id, Launcher* launcher, FamilyEntry entry,
                            const v1::Reattach& reattach) {
  Family& family = entry->second;
  if (const auto before = launchers_.find(family.launcher);
      before != launchers_.end()) {
    before->second.family = 0;
    before->second.Finish();
  }
  family.launcher = id;
  launcher->family = entry->first;
  if (reattach.has_input_begin() && !family.input_done) {
    family.input_done = reattach.input_begin();
  }
  const auto first = jobs_.find(family.first());
  if (reattach.received_size() == 0 && first != jobs_.end()) {
    SendMapped(launcher, MappedEvent(*first->second.job));
  }
  v1::RunEvent event;
  event.mutable_reattached()->set_known(true);
  if (family.input_done) {
    event.mutable_reattached()->set_input_done(*family.input_done);
  }
  launcher->Send(std::move(event));
  for (const std::string& job : family.jobs()) {
    ReattachOutput(launcher, family, job, reattach);
  }
  ReleaseSpawns(&family);
  if (!reattach.has_kill()) return;
  core::KillRequested kill{"", kErrJobKilledByCmd, reattach.kill().reason(),
                           reattach.kill().immediately()};
  kill.again = !kill.immediately;
  Kill(family, std::move(kill));
}

// A spawned job that the launcher does not list, it has not heard of.
void JobManager::ReattachOutput(Launcher* launcher, const Family& family,
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
    SendMapped(launcher, MappedEvent(*jobs_.at(nspace).job));
  }
  sink_->OnInput(std::move(reattached));
}

}  // namespace canopy::control
