// The overlay, as the runtime sees it. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_OVERLAY_PORT_H_
#define CANOPY_SERVER_PORTS_OVERLAY_PORT_H_

#include "server/core/messages.h"

namespace canopy {

// Sends messages to other agents. Messages to a lost node are dropped; the core
// learns of the loss by NodeStateChanged.
class OverlayPort {
 public:
  virtual ~OverlayPort() = default;
  virtual void Send(const core::PeerMessage& message) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_OVERLAY_PORT_H_
