#include "server/control/families.h"

#include <algorithm>
#include <utility>

#include "common/event_loop.h"
#include "common/text.h"

namespace canopy::control {

void Families::set_persistence(LaunchPersistence* persistence,
                               uint32_t grace_ms) {
  persistence_ = persistence;
  grace_ms_ = grace_ms;
}

JobRecord* Families::FindJob(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

bool Families::HasJobOn(const PlacementId& id) const {
  return std::ranges::any_of(
      jobs_, [&](const auto& job) { return job.second.facts.placed.id == id; });
}

JobRecord& Families::AddJob(Family* family, std::shared_ptr<const JobSpec> job,
                            const LaunchFacts& facts) {
  family->Add(job->nspace);
  JobRecord& record = jobs_[job->nspace];
  record.job = std::move(job);
  record.facts = facts;
  record.since = EventLoop::Now();
  record.family = family->id;
  return record;
}

JobRecord Families::RemoveJob(const std::string& nspace) {
  return std::move(jobs_.extract(nspace).mapped());
}

Family* Families::AddFamily(const std::string& first) {
  const uint64_t id = next_family_++;
  Family& family = families_.emplace(id, Family(first)).first->second;
  family.id = id;
  return &family;
}

Family* Families::FindFamily(uint64_t id) {
  const auto it = families_.find(id);
  return it == families_.end() ? nullptr : &it->second;
}

const Family* Families::FindFamily(uint64_t id) const {
  const auto it = families_.find(id);
  return it == families_.end() ? nullptr : &it->second;
}

Family* Families::FamilyOf(const std::string& nspace) {
  const JobRecord* const job = FindJob(nspace);
  return job == nullptr ? nullptr : &families_.at(job->family);
}

Family* Families::FamilyOfToken(const std::string& token) {
  const auto it = std::ranges::find_if(families_, [&](const auto& entry) {
    return entry.second.token == token;
  });
  return it == families_.end() ? nullptr : &it->second;
}

void Families::Abandon(Family* family) {
  LeaveUnattended(family);
  if (family->unattended) return;
  family->abandoned = true;
  if (std::exchange(family->token, "").empty()) return;
  for (const std::string& job : family->jobs()) persistence_->DropControl(job);
  for (const std::string& job : family->kept()) persistence_->DropControl(job);
}

void Families::LeaveUnattended(Family* family) {
  for (const std::string& nspace : family->jobs()) {
    LaunchFacts& facts = jobs_.at(nspace).facts;
    if (!facts.nohup || facts.unattended) continue;
    facts.unattended = family->unattended = true;
    if (!family->token.empty()) persistence_->PersistFacts(nspace, facts);
  }
}

size_t Families::num_bound() const {
  return static_cast<size_t>(std::ranges::count_if(jobs_, [&](const auto& job) {
    const Family& family = families_.at(job.second.family);
    return family.token.empty() && !family.abandoned;
  }));
}

Launcher* Families::FindLauncher(uint64_t id) {
  const auto it = launchers_.find(id);
  return it == launchers_.end() ? nullptr : &it->second;
}

const Launcher* Families::FindLauncher(uint64_t id) const {
  const auto it = launchers_.find(id);
  return it == launchers_.end() ? nullptr : &it->second;
}

Launcher* Families::LauncherOf(const std::string& nspace) {
  const Family* const family = FamilyOf(nspace);
  return family == nullptr ? nullptr : FindLauncher(family->launcher);
}

void Families::Attach(uint64_t launcher, Family* family) {
  family->launcher = launcher;
  launchers_.at(launcher).family = family->id;
}

void Families::SendMapped(Launcher* launcher, v1::RunEvent event) const {
  if (persistence_ != nullptr) event.mutable_mapped()->set_grace_ms(grace_ms_);
  launcher->Send(std::move(event));
}

void Families::Notice(const std::string& nspace, const std::string& text) {
  Launcher* const launcher = LauncherOf(nspace);
  if (launcher == nullptr) return;
  v1::RunEvent event;
  event.set_notice(Printable(text));
  launcher->Send(std::move(event));
}

}  // namespace canopy::control
