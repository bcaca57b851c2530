#include "tests/sim/event_queue.h"

#include <algorithm>

namespace canopy::sim {

using core::kNever;

void EventQueue::SetDeadline(NodeId node, TimeNs when) {
  const auto [it, added] = deadline_of_.try_emplace(node, kNever);
  deadlines_.erase({it->second, node});
  it->second = when;
  if (when != kNever) deadlines_.emplace(when, node);
}

std::optional<Event> EventQueue::Take() {
  if (events_.empty()) return std::nullopt;
  auto item = events_.extract(events_.begin());
  now_ = std::max(now_, item.key().first);
  return std::move(item.mapped());
}

std::optional<Event> EventQueue::TakeUntil(TimeNs end) {
  const TimeNs event = events_.empty() ? kNever : events_.begin()->first.first;
  const TimeNs deadline =
      deadlines_.empty() ? kNever : deadlines_.begin()->first;
  if (std::min(event, deadline) > end) return std::nullopt;
  if (event <= deadline) return Take();
  const NodeId node = deadlines_.begin()->second;
  now_ = std::max(now_, deadline);
  SetDeadline(node, kNever);
  return DeadlineReached{node};
}

}  // namespace canopy::sim
