// The overlay of an agent without peers.
#ifndef CANOPY_SERVER_AGENT_WIRING_NULL_OVERLAY_H_
#define CANOPY_SERVER_AGENT_WIRING_NULL_OVERLAY_H_

#include "server/core/messages.h"
#include "server/ports/overlay_port.h"

namespace canopy::agent {

// Ignores messages: without peers, the core never sends any.
class NullOverlay : public OverlayPort {
 public:
  void Send(const core::PeerMessage&) override {}
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_NULL_OVERLAY_H_
