// Which event is which, and those that came lately, so that none is handled
// twice on whatever way it comes.
#ifndef CANOPY_COMMON_RECENT_EVENTS_H_
#define CANOPY_COMMON_RECENT_EVENTS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>

#include "common/ids.h"

namespace canopy {

// The raiser is a process, or has no namespace and an agent's NodeId as rank.
struct EventId {
  ProcId raiser;
  uint64_t number = 0;  // of the raiser's events
  friend auto operator<=>(const EventId&, const EventId&) = default;
};

// So many of a process's own are known, by its library or by the endpoint that
// speaks to another library: more than an agent keeps and may send again.
inline constexpr size_t kRecentOfProcess = 1024;

// Not synchronised.
class RecentEvents {
 public:
  // `limit`: how many are known, above 0; the oldest are forgotten first.
  explicit RecentEvents(size_t limit) : limit_(limit) {}

  // False when it is known already.
  bool Note(const EventId& id);
  bool Knows(const EventId& id) const { return ids_.contains(id); }
  // Oldest first. Valid until the next call of Note.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const EventId& id : order_) visit(id);
  }

 private:
  size_t limit_;
  std::set<EventId> ids_;
  std::deque<EventId> order_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_RECENT_EVENTS_H_
