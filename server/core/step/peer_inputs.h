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

// Reports a member that has no agent in the tree yet. It counts as lost until
// NodeStateChanged. Its number follows the numbers of all earlier members.
struct MemberAdded {
  NodeId node = kNoNode;
  std::string name;
};

// Reports the decision whether a member is in service or is drained or removed.
// Every member is in service until the first decision about it.
struct MemberServes {
  NodeId node = kNoNode;
  bool in_service = true;
};

// Reports that an agent was lost, or that a new incarnation of an agent has
// joined.
struct NodeStateChanged {
  NodeId node = kNoNode;
  bool up = false;
  std::string reason;
  // Distinguishes the losses of one node. 0: the node was not lost, but this
  // agent was cut off.
  uint64_t life = 0;
  bool left = false;  // the agent left in an orderly way
};

// Reports that the agent of a node was replaced by a successor that recovered
// the node's processes. The agent's volatile state is lost, and so are messages
// in flight to the agent or through it.
struct NodeRestarted {
  NodeId node = kNoNode;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PEER_INPUTS_H_
