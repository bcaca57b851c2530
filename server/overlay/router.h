// Messages into packets, packets along the tree, and back.
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

namespace canopy::overlay {

// Loop thread only.
class Router {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnMessage(core::PeerMessage&& message) = 0;
    // A message to or from the node was dropped; the text says why.
    virtual void OnDropped(NodeId node, const Status& error) = 0;
  };

  // All must outlive it.
  Router(EventLoop* loop, const OverlayConfig* config,
         const MembershipView* view, PacketLinks* links, Listener* listener);
  ~Router();

  // To another member; dropped when that is known to be lost. A message over
  // the size limit is sent without its data, as a failure, where its kind has
  // one.
  void Send(const core::PeerMessage& message);
  // What the neighbour `from` sends.
  void OnPacket(Packet packet, NodeId from);
  // Packets that have lost their link.
  void Reroute(std::vector<Packet> packets);

  // Nothing unfinished of the member's messages will be completed.
  void ForgetSource(NodeId node);
  // Pieces of others' messages may have been lost with the member.
  void OnLoss(NodeId node);
  // The view has changed in a way that lets packets under way come from
  // elsewhere than the tree has it.
  void OnTreeChanged();
  // Tries again to route what had no route.
  void Retry();
  // Forgets packets and stops all timers.
  void Clear();

 private:
  // `from`: the neighbour that it came from; kNoNode for own ones.
  void Route(Packet packet, NodeId from);
  void AnswerInPlaceOf(const core::PeerMessage& message);
  void Deliver(const Packet& packet);
  void Refuse(NodeId source, const Bytes& head);
  bool SourceIsBeyond(NodeId source, NodeId neighbor) const;
  void Hold(Packet packet);
  void SettleLater();

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
  // No packet is under way that was sent in another tree.
  bool settled_ = false;
  EventLoop::TimerId settle_timer_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_ROUTER_H_
