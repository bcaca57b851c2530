// Records for how long debuggers have held processes of jobs. Timeouts of
// operations that involve such jobs do not run meanwhile.
#ifndef CANOPY_SERVER_CORE_DEBUG_HOLDS_H_
#define CANOPY_SERVER_CORE_DEBUG_HOLDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"

namespace canopy::core {

// Maximum number of jobs recorded at a time; timeouts of further jobs are not
// extended.
inline constexpr size_t kMaxHeldJobs = 1024;

// The last notification of a node's agent about one job.
struct HoldWord {
  NodeId node = kNoNode;
  uint64_t number = 0;  // ascends for each node
  bool holds = false;   // processes of that node are held
  TimeNs since = 0;     // in this agent's time
};

// Agents notify each other by events when they begin or cease to hold processes
// (local_holds.h). An engine consults this object when a timeout expires, so
// jobs that are not held cost no time. Not synchronised. Times are in
// nanoseconds.
class DebugHolds {
 public:
  // Posts a HoldChanged to `events` when a hold of a job begins or ends.
  // `events` outlives this object; if it is null, nothing is posted.
  explicit DebugHolds(CoreEvents* events = nullptr) : events_(events) {}

  // Records a notification; ignores it if it is older than the last
  // notification of its node.
  void Note(TimeNs now, const std::string& nspace, const HoldWord& word);
  // Called when a node is lost: its agent can no longer notify, so its holds
  // end.
  void OnNodeLost(TimeNs now, NodeId node);
  void OnJobRemoved(const std::string& nspace);

  // Returns true if any agent holds processes of the job.
  bool Holds(std::string_view nspace) const;
  // Returns true if no job that still exists was ever held, so that no timeout
  // is extended.
  bool empty() const { return jobs_.empty(); }

  // Returns when a timeout for an operation of these jobs really expires.
  // `when` was the deadline as of `since`; the result is later by the time for
  // which any of the jobs was held since then. While a job is held, it is also
  // at least one second after `now`. If the result is later than `now`, the
  // caller sets the deadline to it and calls DueAt again at that time, with the
  // present `now` as `since`.
  TimeNs DueAt(TimeNs now, TimeNs since, TimeNs when,
               std::span<const std::string> nspaces) const;
  TimeNs DueAt(TimeNs now, TimeNs since, TimeNs when,
               const std::string& nspace) const {
    return DueAt(now, since, when, std::span(&nspace, 1));
  }

 private:
  using Span = std::pair<TimeNs, TimeNs>;
  struct Of {
    std::map<NodeId, HoldWord> words;
    std::deque<Span> past;  // ascending, without overlaps
    TimeNs since = kNever;  // kNever: not held now
  };

  void Announce(const std::string& nspace, bool held);
  bool HasRoom();
  void Update(TimeNs now, const std::string& nspace, Of* job);
  static void End(TimeNs now, Of* job);

  std::map<std::string, Of, std::less<>> jobs_;
  CoreEvents* const events_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DEBUG_HOLDS_H_
