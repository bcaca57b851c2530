// An agent's links, as the router sees them.
#ifndef CANOPY_SERVER_OVERLAY_PACKET_LINKS_H_
#define CANOPY_SERVER_OVERLAY_PACKET_LINKS_H_

#include "common/ids.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Loop thread only.
class PacketLinks {
 public:
  virtual ~PacketLinks() = default;
  virtual bool Linked(NodeId node) const = 0;
  // Sends the packet to this neighbour, or queues it until the neighbour is
  // linked.
  virtual void Enqueue(NodeId node, Packet packet) = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_PACKET_LINKS_H_
