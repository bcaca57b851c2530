// Simulated time.
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

// Events in the order of their times; those of one time in the order in which
// they were posted. Deadlines are apart: a cluster in which only these are left
// is quiet.
class EventQueue {
 public:
  TimeNs now() const { return now_; }
  // Without deadlines.
  size_t size() const { return events_.size(); }

  // A time that has passed is now.
  void Post(TimeNs when, Event event) {
    events_.emplace(std::pair(when, sequence_++), std::move(event));
  }
  // Replaces the node's earlier one; core::kNever: none.
  void SetDeadline(NodeId node, TimeNs when);

  // The next event, deadlines left out; its time is now. Nothing: none is left.
  std::optional<Event> Take();
  // The next event or deadline up to `end`. A deadline comes after the events
  // of its time.
  std::optional<Event> TakeUntil(TimeNs end);
  // Lets time pass in which nothing happens.
  void AdvanceTo(TimeNs when) { now_ = when; }

  // Removes the T events for which remove(const T&) is true, which is called in
  // the order of time.
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
