// Splits messages into packets, routes packets along the tree, and reassembles
// messages.
#ifndef CANOPY_SERVER_OVERLAY_ROUTER_H_
#define CANOPY_SERVER_OVERLAY_ROUTER_H_

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/overlay/config.h"
#include "server/overlay/frame.h"
#include "server/overlay/membership_view.h"
#include "server/overlay/packet_links.h"
#include "server/overlay/reassembly.h"
#include "server/overlay/source_paths.h"

namespace canopy::overlay {

// Loop thread only.
class Router {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // A message for this agent is complete.
    virtual void OnMessage(core::PeerMessage&& message) = 0;
    // A message to or from the node was dropped; `error` explains why.
    virtual void OnDropped(NodeId node, const Status& error) = 0;
  };

  // All arguments must outlive this object.
  Router(EventLoop* loop, const OverlayConfig* config,
         const MembershipView* view, PacketLinks* links, Listener* listener);
  ~Router();

  // Sends a message to another member. The message is dropped if that member is
  // known to be lost. A message over the size limit is replaced by an error
  // without data (WithoutData), or dropped if its kind has none.
  void Send(const core::PeerMessage& message);
  // Handles a packet that the neighbour `from` has sent.
  void OnPacket(Packet packet, NodeId from);
  // Routes the packets of a link that has ended.
  void Reroute(std::vector<Packet> packets);

  // Drops the incomplete messages of a member that was restarted or lost.
  void ForgetSource(NodeId node);
  // Called at the loss of a member. Pieces of other members' messages may have
  // been lost with it.
  void OnLoss(NodeId node);
  // Called when the view has a new member.
  void OnMemberAdded() { source_paths_.OnAdded(); }
  // Called when the view has another state of a member (OnMemberChanged), or
  // when this agent has rejoined as a new incarnation (OnRejoin). Packets in
  // flight may arrive along paths that the new tree does not have.
  void OnMemberChanged(NodeId node);
  void OnRejoin();
  // Retries packets without a route.
  void Retry();
  // Drops held packets and stops all timers.
  void Clear();

 private:
  // `from` is the neighbour that sent the packet; kNoNode for packets of this
  // agent.
  void Route(Packet packet, NodeId from);
  void Deliver(const Packet& packet);
  void Refuse(NodeId source, const Bytes& head);
  void Hold(Packet packet);

  EventLoop* const loop_;
  const OverlayConfig* const config_;
  const MembershipView* const view_;
  PacketLinks* const links_;
  Listener* const listener_;

  uint64_t next_message_ = 1;
  Reassembly reassembly_;
  EventLoop::TimerId sweep_timer_ = 0;
  // Packets without a route until the views of the tree converge.
  std::vector<Packet> unroutable_;
  EventLoop::TimerId retry_timer_ = 0;
  SourcePaths source_paths_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_ROUTER_H_
