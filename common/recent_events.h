// Which event is which, and those that came lately, so that none is handled
// twice on whatever way it comes.
#ifndef CANOPY_COMMON_RECENT_EVENTS_H_
#define CANOPY_COMMON_RECENT_EVENTS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "common/ids.h"
#include "common/number_runs.h"

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
  RecentEvents(RecentEvents&&) = default;
  RecentEvents& operator=(RecentEvents&&) = default;

  // False when it is known already.
  bool Note(const EventId& id);
  bool Knows(const EventId& id) const;
  // Oldest first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Known& one : order_) {
      visit(EventId{one.raiser->first, one.number});
    }
  }

 private:
  // Their numbers ascend, so that one of the many is found, and a new one told
  // from them, without touching memory for each.
  using Raisers = std::map<ProcId, NumberRuns>;
  struct Known {
    Raisers::iterator raiser;
    uint64_t number;
  };

  void ForgetOldest();

  size_t limit_;
  Raisers raisers_;
  std::deque<Known> order_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_RECENT_EVENTS_H_
