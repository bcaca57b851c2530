// Which event is which, and those that came lately, so that none is handled
// twice on whatever way it comes.
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

// The raiser is a process, or has no namespace and an agent's NodeId as rank.
struct EventId {
  ProcId raiser;
  uint64_t number = 0;  // of the raiser's events
  friend auto operator<=>(const EventId&, const EventId&) = default;
};

// So many of a process's own are known, by its library or by the endpoint that
// speaks to another library: more than an agent keeps and may send again.
inline constexpr size_t kRecentOfProcess = 1024;

// Not synchronised. Not used any more once it was moved from.
class RecentEvents {
 public:
  // `limit`: how many are known, above 0; the oldest are forgotten first.
  explicit RecentEvents(size_t limit) : limit_(limit) {}
  RecentEvents(RecentEvents&&) = default;
  RecentEvents& operator=(RecentEvents&&) = default;

  // False when it is known already.
  bool Note(const EventId& id) { return Note(ViewOf(id.raiser), id.number); }
  bool Note(const ProcView& raiser, uint64_t number);
  bool Knows(const EventId& id) const;
  // Oldest first.
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
  // Came one after another, with these numbers.
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
  // They are neither in order_ nor in their raiser's runs yet: the next one of
  // the raiser, which most events are, is told from all others here.
  std::optional<Noted> latest_;
  // The next one that the raiser's runs have, or less than that.
  uint64_t latest_end_ = 0;
  Raisers raisers_;
  std::deque<Noted> order_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_RECENT_EVENTS_H_
