// Delivers inputs from the stand-ins of a node to its agent.
#ifndef CANOPY_TESTS_SIM_AGENT_INPUTS_H_
#define CANOPY_TESTS_SIM_AGENT_INPUTS_H_

#include <functional>
#include <utility>

#include "common/ids.h"
#include "server/core/step/input.h"
#include "tests/sim/event.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/membership.h"

namespace canopy::sim {

// An input is delivered only to the agent that runs when it is posted, not to a
// successor.
class AgentInputs {
 public:
  // `queue` and `members` must outlive this object.
  AgentInputs(EventQueue& queue, const Membership& members)
      : queue_(queue), members_(members) {}

  void Post(NodeId node, core::Input input) {
    PostAt(queue_.now(), node, std::move(input));
  }
  void PostAt(TimeNs when, NodeId node, core::Input input) {
    queue_.Post(when, LocalInput{node, members_.start(node), std::move(input)});
  }
  // Calls `what` when the time `after` has passed, unless the node has a new
  // agent by then.
  void PostCallback(TimeNs after, NodeId node, std::function<void()> what) {
    const auto callback = [this, node, start = members_.start(node),
                           what = std::move(what)] {
      if (members_.start(node) == start) what();
    };
    queue_.Post(queue_.now() + after, Callback(callback));
  }

 private:
  EventQueue& queue_;
  const Membership& members_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_AGENT_INPUTS_H_
