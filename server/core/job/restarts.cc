#include "server/core/job/restarts.h"

#include <algorithm>
#include <utility>

#include "server/core/job/text.h"

namespace canopy::core {

bool Restarts::Allows(const ProcExit& exit) const {
  return exit.incarnation < limit_ && IsAbnormal(exit);
}

void Restarts::Add(TimeNs now, const ProcExit& exit) {
  const auto before = started_.find(exit.rank);
  const TimeNs when = before == started_.end()
                          ? now
                          : std::max(now, before->second + kRestartInterval);
  waiting_[exit.rank] = {when, exit};
}

std::vector<ProcExit> Restarts::TakeDue(TimeNs now) {
  std::vector<ProcExit> due;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.when > now) {
      ++it;
      continue;
    }
    started_[it->first] = now;
    due.push_back(it->second.exit);
    it = waiting_.erase(it);
  }
  return due;
}

TimeNs Restarts::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [rank, waiting] : waiting_) {
    next = std::min(next, waiting.when);
  }
  return next;
}

bool Restarts::HoldEnd(const LocalOutput& end) {
  if (limit_ == 0 || over_.contains(end.rank)) return false;
  ends_[end.rank].push_back(end);
  return true;
}

std::vector<LocalOutput> Restarts::TakeEnds(Rank rank) {
  if (limit_ == 0) return {};
  over_.insert(rank);
  auto ends = ends_.extract(rank);
  return ends.empty() ? std::vector<LocalOutput>() : std::move(ends.mapped());
}

}  // namespace canopy::core
