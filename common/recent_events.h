// The identity of events, and the set of recent ones. An event may arrive
// several times, by different paths; the set makes sure that it is handled
// once.
#ifndef CANOPY_COMMON_RECENT_EVENTS_H_
#define CANOPY_COMMON_RECENT_EVENTS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "common/ids.h"
#include "common/number_runs.h"

namespace canopy {

// The raiser is a process, or has an empty namespace and an agent's NodeId as
// its rank.
struct EventId {
  ProcId raiser;
  uint64_t number = 0;  // counts the raiser's events
  friend auto operator<=>(const EventId&, const EventId&) = default;
};

// The number of events remembered for one process, by its library or by the
// endpoint that serves another library. It exceeds the number of events that an
// agent keeps and may send again.
inline constexpr size_t kRecentOfProcess = 1024;

// Not synchronised. A moved-from object must not be used.
class RecentEvents {
 public:
  // `limit` is the number of events remembered, above 0. The oldest are
  // forgotten first.
  explicit RecentEvents(size_t limit) : limit_(limit) {}
  RecentEvents(RecentEvents&&) = default;
  RecentEvents& operator=(RecentEvents&&) = default;

  // Records an event. Returns false if it is already known.
  bool Note(const EventId& id) { return Note(ViewOf(id.raiser), id.number); }
  bool Note(const ProcView& raiser, uint64_t number);
  bool Knows(const EventId& id) const;
  // Visits the events, oldest first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Noted& noted : order_) noted.ForEach(visit);
    if (latest_.has_value()) latest_->ForEach(visit);
  }

 private:
  struct Less {
    using is_transparent = void;
    static ProcView View(const ProcId& proc) { return ViewOf(proc); }
    static ProcView View(const ProcView& proc) { return proc; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return View(a) < View(b);
    }
  };
  using Raisers = std::map<ProcId, NumberRuns, Less>;
  // Events of one raiser that arrived one after another with these consecutive
  // numbers.
  struct Noted {
    Raisers::iterator raiser;
    uint64_t first;
    uint64_t last;

    template <typename Visit>
    void ForEach(Visit& visit) const {
      for (uint64_t i = 0; i <= last - first; ++i) {
        visit(EventId{raiser->first, first + i});
      }
    }
  };

  bool Follows(const ProcView& raiser, uint64_t number) const;
  bool IsOfLatest(Raisers::const_iterator raiser, uint64_t number) const;
  bool Begin(const ProcView& raiser, uint64_t number);
  void SettleLatest();
  void ForgetOldest();

  size_t limit_;
  size_t known_ = 0;
  // The run of events that arrived last, which is in neither order_ nor the
  // raiser's runs yet. Most events extend it, which needs no search.
  std::optional<Noted> latest_;
  // A bound for extending latest_: all numbers between latest_ and this one are
  // absent from the raiser's runs.
  uint64_t latest_end_ = 0;
  Raisers raisers_;
  std::deque<Noted> order_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_RECENT_EVENTS_H_
