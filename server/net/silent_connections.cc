#include "server/net/silent_connections.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace canopy::net {
namespace {

// Limits the cost of a search for a connection that may be ended.
constexpr int kMaxLooks = 64;
constexpr int64_t kUnreadTimeouts = 4;
constexpr int64_t kScarceShare = 5;

}  // namespace

SilentConnections::SilentConnections(Parts parts) : parts_(std::move(parts)) {}

void SilentConnections::Add(Id id, const Source& source, int64_t now) {
  const auto group = groups_.try_emplace(source.name, Group{source, {}}).first;
  group->second.entries.push_back({id, now});
  all_[id] = {group, std::prev(group->second.entries.end())};
}

void SilentConnections::Remove(Id id) {
  const auto it = all_.find(id);
  if (it == all_.end()) return;
  const Place place = it->second;
  all_.erase(it);
  place.group->second.entries.erase(place.entry);
  if (place.group->second.entries.empty()) groups_.erase(place.group);
}

size_t SilentConnections::num_of(const Source& source) const {
  const auto group = groups_.find(source.name);
  return group == groups_.end() ? 0 : group->second.entries.size();
}

SilentConnections::Groups::iterator SilentConnections::Largest() {
  return std::ranges::max_element(groups_, {}, [](const auto& group) {
    return group.second.entries.size();
  });
}

SilentConnections::State SilentConnections::Look(const Entry& entry,
                                                 int64_t now) const {
  const State state = parts_.look ? parts_.look(entry.id) : State::kSilent;
  const bool excused =
      now - entry.since <= kUnreadTimeouts * parts_.limits.timeout_ns;
  return state == State::kUnread && !excused ? State::kSilent : state;
}

bool SilentConnections::IsTrusted(const Source& source) const {
  return parts_.is_trusted && parts_.is_trusted(source);
}

// Removes and returns the oldest connection of a group that has been silent for
// at least `age`, if the group has more than `more_than` connections.
std::optional<SilentConnections::Id> SilentConnections::TakeOldest(
    Groups::iterator group, size_t more_than, int64_t age, int64_t now) {
  auto& entries = group->second.entries;
  size_t left = entries.size();
  std::optional<Id> found;
  int looks = 0;
  for (auto it = entries.begin(); left > more_than && it != entries.end();) {
    const Entry entry = *it++;
    if (now - entry.since < age || ++looks > kMaxLooks) break;
    const State state = Look(entry, now);
    if (state == State::kGone) {
      Remove(entry.id);
      --left;
    } else if (state == State::kSilent) {
      found = entry.id;
      break;
    } else if (state == State::kBegun && !found) {
      found = entry.id;
    }
  }
  if (left <= more_than) return std::nullopt;
  if (found) Remove(*found);
  return found;
}

std::optional<SilentConnections::Id> SilentConnections::TakeForNewcomer(
    const Source& source, Supply supply, int64_t now) {
  const SilenceLimits& limits = parts_.limits;
  const auto own = groups_.find(source.name);
  const size_t most =
      IsTrusted(source) ? limits.per_trusted : limits.per_source;
  if (own != groups_.end() && num_of(source) >= most) {
    return TakeOldest(own, most - 1, 0, now);
  }
  const bool crowded = size() >= limits.total || supply == Supply::kExhausted;
  if (groups_.empty() || (!crowded && supply == Supply::kPlenty)) {
    return std::nullopt;
  }
  const int64_t age = crowded ? 0 : limits.timeout_ns / kScarceShare;
  return TakeOldest(Largest(), 0, age, now);
}

std::optional<SilentConnections::Id> SilentConnections::TakeOverdue(
    int64_t now) {
  const SilenceLimits& limits = parts_.limits;
  for (auto it = groups_.begin(); it != groups_.end();) {
    const auto group = it++;
    const size_t patience =
        IsTrusted(group->second.source) ? limits.patience : 0;
    const auto overdue = TakeOldest(group, patience, limits.timeout_ns, now);
    if (overdue) return overdue;
  }
  return std::nullopt;
}

void SilentConnections::Sweep() {
  if (!parts_.look) return;
  std::vector<Id> gone;
  for (const auto& [id, place] : all_) {
    if (parts_.look(id) == State::kGone) gone.push_back(id);
  }
  for (const Id id : gone) Remove(id);
}

}  // namespace canopy::net
