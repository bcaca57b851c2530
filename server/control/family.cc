#include "server/control/family.h"

#include <algorithm>

#include "common/status.h"

namespace canopy::control {
namespace {

// Returns true if the job failed by itself, and not because another job failed.
bool IsFailure(const v1::JobEnd& end) {
  return (end.exit_code() != 0 || end.status() != kSuccess) &&
         end.status() != kErrJobTermWoSync;
}

bool IsOnRequest(const v1::JobEnd& end) {
  return end.status() == kErrJobKilledByCmd;
}

}  // namespace

std::string Family::RefusalOfSpawn(const SpawnQuota& quota) const {
  if (jobs_.size() >= quota.under_way) {
    return std::to_string(jobs_.size()) +
           " jobs of its family run, which is the limit";
  }
  if (total_ >= quota.total) {
    return "its family has had " + std::to_string(total_) +
           " jobs, which is the limit";
  }
  return {};
}

void Family::OnFailing(const std::string& nspace, const v1::JobEnd& end) {
  if (nspace == first_ || !IsFailure(end)) return;
  if (failure_ && !IsOnRequest(*failure_)) return;
  failure_ = end;
  failure_->set_text("job " + nspace + ": " + end.text());
  // The rank is omitted, because the launcher would show it as a rank of its
  // own job.
  failure_->clear_first_failed();
}

void Family::OnEnded(const std::string& nspace, const v1::JobEnd& end) {
  OnFailing(nspace, end);
  if (nspace == first_) first_end_ = end;
  jobs_.erase(nspace);
}

v1::JobEnd Family::Conclusion() const {
  const v1::JobEnd first = first_end_.value_or(v1::JobEnd());
  if (IsFailure(first)) return first;
  if (!failure_ || (IsOnRequest(*failure_) && !killed)) return first;
  return *failure_;
}

std::vector<std::string> Family::KeepRecord(const std::string& nspace,
                                            const ProcId& spawner,
                                            core::RequestId request) {
  kept_.push_back({nspace, spawner, request});
  std::set<core::RequestId> requests;
  for (const Kept& kept : kept_) {
    if (kept.spawner == spawner) requests.insert(kept.request);
  }
  if (requests.size() <= core::kMaxSpawnsOfProcess) return {};
  const Kept oldest = *std::ranges::find(kept_, spawner, &Kept::spawner);
  std::vector<std::string> unneeded;
  std::erase_if(kept_, [&](const Kept& kept) {
    if (kept.spawner != spawner || kept.request != oldest.request) return false;
    unneeded.push_back(kept.nspace);
    return true;
  });
  return unneeded;
}

std::vector<std::string> Family::kept() const {
  std::vector<std::string> out;
  for (const Kept& kept : kept_) out.push_back(kept.nspace);
  return out;
}

std::vector<Consequence> ConsequencesOf(const JobSpec& failed,
                                        const LaunchFacts& facts,
                                        bool with_parent,
                                        const JobRecords& jobs) {
  std::vector<Consequence> out;
  for (const auto& [nspace, record] : jobs) {
    if (record.phase >= core::JobPhase::kEnding) continue;
    if (record.facts.unattended && !facts.unattended) continue;
    if (record.parent() == failed.nspace && !record.facts.separate) {
      out.push_back(
          {nspace, "job " + failed.nspace + ", which spawned it, has failed"});
    } else if (with_parent && nspace == failed.parent.nspace) {
      out.push_back(
          {nspace, "job " + failed.nspace + ", which it spawned, has failed"});
    }
  }
  return out;
}

}  // namespace canopy::control
