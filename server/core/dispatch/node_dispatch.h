// What becomes of the engines' work when another agent is lost, returns, or is
// another than before.
#ifndef CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/step/peer_inputs.h"

namespace canopy::core {

// What is known already, and what concerns this agent itself, changes nothing.
void OnNodeStateChanged(Engines& e, const NodeStateChanged& in);
void OnNodeRestarted(Engines& e, const NodeRestarted& in);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_
