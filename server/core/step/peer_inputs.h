// Inputs of the core from the overlay.
#ifndef CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_
#define CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

struct PeerArrived {
  PeerMessage message;
};

// An agent was lost, or a new incarnation of it has joined.
struct NodeStateChanged {
  NodeId node = kNoNode;
  bool up = false;
  std::string reason;
  // Of a loss: by which those of one node differ; 0: it is none of the node,
  // but this agent was cut off.
  uint64_t life = 0;
  bool left = false;  // in order
};

// The agent of a node was replaced by a successor that recovered its processes:
// lost are only its volatile state and messages in flight to it or through it.
struct NodeRestarted {
  NodeId node = kNoNode;
};

// Whether the agent of a node that is up is of an older release, which knows no
// process groups. Not sent as long as none is.
struct NodeIsOld {
  NodeId node = kNoNode;
  bool old = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_
