#include "server/core/job/rank_ends.h"

#include <algorithm>
#include <span>
#include <utility>

namespace canopy::core {
namespace {

// Returns the report of `ends`, which must all be of one kind.
MessageBody Report(const std::string& nspace, std::span<const RankEnd> ends) {
  if (ends.front().lost_with_node) {
    NodeLost lost{nspace, {}};
    for (const RankEnd& end : ends) lost.ranks.push_back(end.exit.rank);
    return lost;
  }
  JobExits exits{nspace, {}};
  for (const RankEnd& end : ends) exits.exits.push_back(end.exit);
  return exits;
}

}  // namespace

bool RankEnds::Add(const RankEnd& end) {
  const Rank rank = end.exit.rank;
  if (rank >= known_.size() || known_[rank]) return false;
  if (end.exit.restarted) return AddRestart(end.exit);
  known_[rank] = true;
  ends_.push_back(end);
  return true;
}

bool RankEnds::AddRestart(const ProcExit& exit) {
  const auto [it, added] = restarts_.try_emplace(exit.rank, exit);
  if (!added && exit.incarnation <= it->second.incarnation) return false;
  it->second = exit;
  unsent_restarts_.insert(exit.rank);
  return true;
}

void RankEnds::Resend() {
  sent_ = 0;
  for (const auto& [rank, exit] : restarts_) unsent_restarts_.insert(rank);
}

std::vector<MessageBody> RankEnds::TakeUnsent(const std::string& nspace) {
  std::vector<MessageBody> out;
  if (!unsent_restarts_.empty()) {
    JobExits exits{nspace, {}};
    for (const Rank rank : std::exchange(unsent_restarts_, {})) {
      exits.exits.push_back(restarts_.at(rank));
    }
    out.push_back(std::move(exits));
  }
  while (sent_ < ends_.size()) {
    const std::span rest = std::span<const RankEnd>(ends_).subspan(sent_);
    const auto next = std::ranges::find(
        rest, !rest.front().lost_with_node,
        [](const RankEnd& end) { return end.lost_with_node; });
    const auto n = static_cast<size_t>(next - rest.begin());
    out.push_back(Report(nspace, rest.first(n)));
    sent_ += n;
  }
  return out;
}

}  // namespace canopy::core
