// The links of this agent, one to each neighbour in the tree. They are created,
// replaced and ended as the membership view requires.
#ifndef CANOPY_SERVER_OVERLAY_LINK_SET_H_
#define CANOPY_SERVER_OVERLAY_LINK_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/overlay/config.h"
#include "server/overlay/dialer.h"
#include "server/overlay/frame.h"
#include "server/overlay/link_handshake.h"
#include "server/overlay/membership_view.h"
#include "server/overlay/neighbor.h"
#include "server/overlay/packet_links.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// Loop thread only.
class LinkSet final : public PacketLinks, private Neighbor::Listener {
 public:
  // A listener may call the link set.
  class Listener {
   public:
    virtual ~Listener() = default;
    // A frame from the neighbour `from` contains this record of a member.
    virtual void OnRecord(const MemberRecord& record, NodeId from) = 0;
    // A frame from the neighbour `from` (OnMember) or the member's own
    // handshake (OnPeer) contains this state of a member. Called before the
    // packets of the same frame are reported. New records and states must be
    // merged into the view before the call returns.
    virtual void OnMember(const MemberState& state, NodeId from) = 0;
    virtual void OnPeer(const MemberState& state) = 0;
    virtual void OnPacket(Packet packet, NodeId from) = 0;
    // The link has ended before these packets were acknowledged, so they need
    // another route.
    virtual void OnUndelivered(std::vector<Packet> packets) = 0;
    // A link was established or has ended, so Update must be called.
    virtual void OnLinksChanged() = 0;
    // A link to the node was established.
    virtual void OnLinked(NodeId node) = 0;
    // A child that is up has no link, and the downtime that it may have
    // announced is over.
    virtual void OnChildAwaited(NodeId node) = 0;
    // A link has sent or received a frame.
    virtual void OnActivity() = 0;
    // An attempt to link failed; the text is meant for an operator.
    virtual void OnLinkError(NodeId node, const Status& error) = 0;
    // The neighbour did not link in time, or too much is queued for it. Never
    // called from within a call of the link set.
    virtual void OnUnreachable(NodeId node, const std::string& reason) = 0;
    // A neighbour reports that this agent was declared lost.
    virtual void OnExpelled(const std::string& reason) = 0;
    // A neighbour reports that this member was removed.
    virtual void OnRemoved(const std::string& reason) = 0;
  };

  // All arguments must outlive this object.
  LinkSet(EventLoop* loop, Transport* transport, const OverlayConfig* config,
          const MembershipView* view, Listener* listener);
  ~LinkSet() override;

  // Takes over an incoming stream.
  void Accept(std::shared_ptr<Stream> stream);
  // Dials, awaits and ends links as the view requires.
  void Update();

  bool Linked(NodeId node) const override;
  // Returns the time in nanoseconds after which this neighbour without a link
  // counts as lost. Returns no value if the node is no neighbour or is linked,
  // or if there is no time limit.
  std::optional<int64_t> TimeToLoss(NodeId node) const;
  // Sends the packet to this neighbour, or queues it until the neighbour is
  // linked.
  void Enqueue(NodeId node, Packet packet) override;

  // Sends the state of `member` to all neighbours except `except`.
  void SendMember(NodeId member, NodeId except);
  // Sends the record of `member` to all neighbours except `except`.
  void SendRecord(NodeId member, NodeId except);

  // Called when the member is lost. Ends its link, with a notification if it is
  // still connected. Returns the packets that were queued for it.
  std::vector<Packet> Remove(NodeId node);
  // Called when the member was restarted: starts the packet flow over, without
  // the packets addressed to the member's predecessor.
  void BeginAnew(NodeId node);
  // Ends all links and handshakes, because this agent rejoins as a new
  // incarnation.
  void Reset();
  // Ends all links and handshakes for good; no callback runs afterwards.
  void Stop();

  // Stops dialling and acknowledges the packets that have arrived.
  void BeginLeaving();
  // Sends this frame as the last one on each link.
  void SendLast(const Frame& frame);
  // Return true if any link exists (AnyLinked), if everything sent is
  // acknowledged (AllIdle), or if the streams have taken everything written
  // (AllWritten).
  bool AnyLinked() const;
  bool AllIdle() const;
  bool AllWritten() const;

 private:
  void OnRecord(const MemberRecord& record, NodeId from) override {
    listener_->OnRecord(record, from);
  }
  void OnMember(const MemberState& state, NodeId from) override {
    listener_->OnMember(state, from);
  }
  void OnPacket(Packet packet, NodeId from) override {
    listener_->OnPacket(std::move(packet), from);
  }
  void OnActivity(const Neighbor::Ref& neighbor) override;
  void OnLinkEnd(const Neighbor::Ref& neighbor, const StreamEnd& end) override;

  Neighbor::Ref Get(NodeId node);
  Neighbor::Ref Find(NodeId node) const;
  void Drop(NodeId node);
  void DropUndelivered(const Neighbor::Ref& neighbor, bool unacknowledged);
  void Await(const Neighbor::Ref& neighbor);
  void ReportAwaited(const Neighbor::Ref& neighbor);
  void UpdateParent();
  void DialParent(NodeId node);
  void OnDialled(NodeId node, const StreamEnd& end, const Welcome& welcome,
                 std::shared_ptr<Stream> stream);
  void OnDialFailed(NodeId node, const StreamEnd& end);
  void Redial(NodeId node);
  void Probe();
  void OnGreeted(const Hello& hello, const Welcome& welcome,
                 std::shared_ptr<Stream> stream);
  ResumePoint PointOf(NodeId node) const;
  void Establish(const MemberState& peer, bool resumed, uint64_t peer_received,
                 std::shared_ptr<Stream> stream);
  void SendMemberDown(NodeId node, std::shared_ptr<Stream> stream);
  std::function<void()> IfAlive(std::function<void()> work);

  EventLoop* const loop_;
  const OverlayConfig* const config_;
  const MembershipView* const view_;
  Listener* const listener_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  Dialer dialer_;
  std::map<NodeId, Neighbor::Ref> neighbors_;
  std::vector<std::unique_ptr<FarewellStream>> farewells_;
  std::map<uint64_t, std::unique_ptr<ServerHandshake>> server_handshakes_;
  uint64_t next_server_handshake_ = 1;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_LINK_SET_H_
