// The simulated time, and the events that are still to happen.
#ifndef CANOPY_TESTS_SIM_EVENT_QUEUE_H_
#define CANOPY_TESTS_SIM_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "server/core/step/clock.h"
#include "tests/sim/event.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// Events in order of their times; events of the same time are in the order in
// which they were posted. Deadlines are kept separately, because a cluster that
// has only deadlines is quiet.
class EventQueue {
 public:
  TimeNs now() const { return now_; }
  // Returns the number of events, without deadlines.
  size_t size() const { return events_.size(); }

  // Adds an event. A time in the past counts as the present time.
  void Post(TimeNs when, Event event) {
    events_.emplace(std::pair(when, sequence_++), std::move(event));
  }
  // Replaces the node's earlier deadline; core::kNever removes it.
  void SetDeadline(NodeId node, TimeNs when);

  // Removes and returns the next event, and advances the time to it; deadlines
  // are ignored. Returns no value if no event is left.
  std::optional<Event> Take();
  // Removes and returns the next event or deadline up to `end`. A deadline
  // follows the events of the same time.
  std::optional<Event> TakeUntil(TimeNs end);
  // Advances the time without an event.
  void AdvanceTo(TimeNs when) { now_ = when; }

  // Calls remove(const T&) for the events of type T, in order of time, and
  // removes the events for which it returns true.
  template <typename T, typename Remove>
  void RemoveIf(Remove&& remove) {
    std::erase_if(events_, [&](const auto& item) {
      const T* event = std::get_if<T>(&item.second);
      return event != nullptr && remove(*event);
    });
  }

 private:
  TimeNs now_ = 0;
  uint64_t sequence_ = 0;
  std::map<std::pair<TimeNs, uint64_t>, Event> events_;
  std::set<std::pair<TimeNs, NodeId>> deadlines_;
  std::map<NodeId, TimeNs> deadline_of_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_EVENT_QUEUE_H_
