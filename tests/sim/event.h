// The pending events of a simulated cluster.
#ifndef CANOPY_TESTS_SIM_EVENT_H_
#define CANOPY_TESTS_SIM_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/input.h"

namespace canopy::sim {

// The state of a member of the overlay, as agents forward it to each other. A
// later incarnation replaces an earlier one. A member that is down stays down
// in the same incarnation.
struct MemberUpdate {
  NodeId subject = kNoNode;
  bool up = false;
  uint64_t incarnation = 0;
  std::string reason;      // reason of a loss
  bool recovered = false;  // this incarnation has its predecessor's jobs
};

// An input from the agent's own node, or from a launcher.
struct LocalInput {
  NodeId node = 0;
  // Start of the agent; a later agent does not get the input.
  uint64_t start = 0;
  core::Input input;
};

// A message between two agents. It is lost if the links over which it was sent
// have ended at either agent.
struct InTransit {
  core::PeerMessage message;
  uint64_t receiver_start = 0;
  uint64_t receiver_incarnation = 0;
  uint64_t sender_incarnation = 0;
  // The number of member updates that the sender had when it sent the message.
  // The receiver gets these updates before the message.
  size_t updates = 0;
};

struct UpdateDelivery {
  NodeId observer = 0;
  uint64_t start = 0;  // start of the observer's agent
  MemberUpdate update;
};

struct DeadlineReached {
  NodeId node = 0;
};

using Callback = std::function<void()>;

using Event = std::variant<LocalInput, InTransit, UpdateDelivery,
                           DeadlineReached, Callback>;

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_EVENT_H_
