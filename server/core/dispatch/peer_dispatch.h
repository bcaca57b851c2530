// Which engine a message of another agent goes to.
#ifndef CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/messages.h"

namespace canopy::core {

// One that is for another agent is dropped.
void OnPeerMessage(Engines& e, const PeerMessage& message);

// The same with messages that were deferred until the views of the tree
// converge, and now have.
void TakeReleased(Engines& e);

// The agents below are told, then this one ends.
void ShutDown(Engines& e, const OverlayShutdown& order);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_
