// What the core learns of other agents.
#ifndef CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_
#define CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_

#include <string>

#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

struct PeerArrived {
  PeerMessage message;
};

// An agent is lost, or a new incarnation of it is here.
struct NodeStateChanged {
  NodeId node = kNoNode;
  bool up = false;
  std::string reason;
};

// The agent of a node was replaced by a new one that goes on with its
// processes: nothing is lost but what it knew, and what was on its way to it or
// through it.
struct NodeRestarted {
  NodeId node = kNoNode;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_
