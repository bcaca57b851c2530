// Notifies the engines that another agent was added, was lost, has returned,
// was replaced by a successor, or is in service or not.
#ifndef CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/step/peer_inputs.h"

namespace canopy::core {

// Makes the next member known. Has no effect for any other number.
void OnMemberAdded(Engines& e, const MemberAdded& in);
// Records a decision about a member, which may change the leader.
void OnMemberServes(Engines& e, const MemberServes& in);
// These functions ignore a change of this agent's own node. OnNodeStateChanged
// has no effect if the state is known already, and OnNodeRestarted has none for
// a lost node.
void OnNodeStateChanged(Engines& e, const NodeStateChanged& in);
void OnNodeRestarted(Engines& e, const NodeRestarted& in);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_NODE_DISPATCH_H_
