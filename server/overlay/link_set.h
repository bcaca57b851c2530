// The links of this agent: one to each neighbour in the tree, made, replaced
// and ended as the view of the membership asks for it.
#ifndef CANOPY_SERVER_OVERLAY_LINK_SET_H_
#define CANOPY_SERVER_OVERLAY_LINK_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  // May call the link set.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The state of a member, from a link's frame or, of a peer, from its
    // handshake; before its packets. A state that is news must be merged into
    // the view before this returns.
    virtual void OnMember(const MemberState& state, NodeId from) = 0;
    virtual void OnPeer(const MemberState& state) = 0;
    virtual void OnPacket(Packet packet, NodeId from) = 0;
    // Packets of a link that has ended, which nobody has acknowledged.
    virtual void OnUndelivered(std::vector<Packet> packets) = 0;
    // A link was made or has ended: Update is due.
    virtual void OnLinksChanged() = 0;
    virtual void OnLinked(NodeId node) = 0;
    // Some link has sent or received something.
    virtual void OnActivity() = 0;
    // Why an attempt to link fails: for an operator.
    virtual void OnLinkError(NodeId node, const Status& error) = 0;
    // The neighbour did not link in time, or too much waits for it. Not called
    // from within a call of the link set.
    virtual void OnUnreachable(NodeId node, const std::string& reason) = 0;
    // A neighbour reports that this agent counts as lost.
    virtual void OnExpelled(const std::string& reason) = 0;
  };

  // All must outlive it.
  LinkSet(EventLoop* loop, Transport* transport, const OverlayConfig* config,
          const MembershipView* view, Listener* listener);
  ~LinkSet() override;

  // A stream that came in.
  void Accept(std::shared_ptr<Stream> stream);
  // Dials, awaits and ends what the view asks for.
  void Update();

  bool Linked(NodeId node) const override;
  void Enqueue(NodeId node, Packet packet) override;

  // Sends the state of `member` to all neighbours but one.
  void SendMember(NodeId member, NodeId except);

  // The member is lost: ends its link, with notice if it is still there.
  // Returns the packets that wait for it.
  std::vector<Packet> Remove(NodeId node);
  // The member was restarted: the flow begins anew, without the packets whose
  // target is its predecessor.
  void BeginAnew(NodeId node);
  // Ends all links and handshakes: this agent joins as another incarnation.
  void Reset();
  // The same for good; nothing is called any more.
  void Stop();

  // Dials no more, and acknowledges what arrived.
  void BeginLeaving();
  // Sends this frame as the last one on each link.
  void SendLast(const Frame& frame);
  // Whether there is any link; whether all that was sent is acknowledged; and
  // whether all that was written has left.
  bool AnyLinked() const;
  bool AllIdle() const;
  bool AllWritten() const;

 private:
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
