// Passes a message of another agent to its engine.
#ifndef CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/messages.h"

namespace canopy::core {

// Handles the message. Drops it if it is addressed to another agent.
void OnPeerMessage(Engines& e, const PeerMessage& message);

// Sends the order to the agents below, then ends this agent.
void ShutDown(Engines& e, const OverlayShutdown& order);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_PEER_DISPATCH_H_
