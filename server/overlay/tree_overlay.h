// The overlay's own state: membership, the links to the neighbours in the tree,
// and routing. Independent of the transport, without a thread of its own.
#ifndef CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/tree.h"
#include "server/overlay/config.h"
#include "server/overlay/frame.h"
#include "server/overlay/link.h"
#include "server/overlay/link_handshake.h"
#include "server/overlay/member_table.h"
#include "server/overlay/reassembly.h"
#include "server/overlay/stream.h"
#include "server/ports/input_sink.h"

namespace canopy::overlay {

// Loop thread only. See GrpcOverlay for the contract of the calls.
class TreeOverlay {
 public:
  // All must outlive the overlay.
  TreeOverlay(EventLoop* loop, InputSink* sink, Transport* transport,
              const OverlayConfig& config, OverlayEvents events);
  ~TreeOverlay();

  void SetOwnAddress(const std::string& address);
  void SetAddress(NodeId node, std::string address);
  void Join();
  void Leave(std::function<void()> done);
  void AnnounceHandover(uint32_t ms, std::function<void()> done);
  void Send(core::PeerMessage message);
  // A stream that came in.
  void Accept(std::shared_ptr<Stream> stream);
  // Drops every stream; nothing is called any more.
  void Stop();

  const MemberTable& table() const { return table_; }
  const core::Tree& tree() const { return tree_; }

 private:
  struct Neighbor;
  using NeighborRef = std::shared_ptr<Neighbor>;

  enum class State { kIdle, kJoined, kLeaving, kStopped };

  // Wraps work for the loop so that it does nothing once this object is gone.
  std::function<void()> Guard(std::function<void()> work);
  void ScheduleReconcile();
  void Reconcile();
  void ReportProgress();

  // Members.
  void Merge(const MemberState& state, NodeId from);
  void MergeSelf(const MemberState& state);
  void Lost(NodeId node, const std::string& reason);
  void Returned(const MemberState& state);
  void Restarted(const MemberState& state);
  void Declare(NodeId node, const std::string& reason);
  void Rejoin(const std::string& reason);
  void ReportLinkError(NodeId node, int code, const std::string& text);

  // Links.
  NeighborRef Get(NodeId node);
  NeighborRef Find(NodeId node) const;
  void Drop(NodeId node);
  bool Expected(NodeId node) const;
  void AwaitChildren();
  void Await(const NeighborRef& neighbor);
  void OnReconnectTimeout(NodeId node, int64_t late_ns);
  void Dial(const NeighborRef& parent);
  void OnDialled(NodeId node, const StreamEnd& end, const Welcome& welcome,
                 std::shared_ptr<Stream> stream);
  void Redial(NodeId node);
  void ProbeLater();
  void Probe();
  StreamEnd Admit(const Hello& hello, ResumePoint* resume);
  ResumePoint PointOf(NodeId node) const;
  void Establish(const MemberState& peer, bool resumed, uint64_t peer_received,
                 std::shared_ptr<Stream> stream);
  void OnLinkEnd(const NeighborRef& neighbor, const StreamEnd& end);
  void BreakLink(const NeighborRef& neighbor, const std::string& why);
  void Expel(const NeighborRef& neighbor);
  void SendMemberDown(NodeId node, std::shared_ptr<Stream> stream);
  void Retire(const NeighborRef& neighbor);
  void CheckLeft();
  void CheckAnnounced();

  // Packets.
  void ScheduleFlush(const NeighborRef& neighbor);
  void Flush(const NeighborRef& neighbor, bool ack_now);
  void OnFrame(const NeighborRef& neighbor, const Bytes& data);
  bool OnPackets(const NeighborRef& neighbor, std::vector<Packet> packets);
  void Deliver(const Packet& packet);
  // `from`: the neighbour that it came from; kNoNode for own ones.
  void Route(Packet packet, NodeId from);
  void Reroute(std::vector<Packet> packets, NodeId except);
  void CheckCongestion(const NeighborRef& neighbor);
  void AckLater(const NeighborRef& neighbor);

  EventLoop* const loop_;
  InputSink* const sink_;
  Transport* const transport_;
  const OverlayConfig config_;
  const OverlayEvents events_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);

  State state_ = State::kIdle;
  Identity identity_;
  std::vector<std::string> addresses_;
  MemberTable table_;
  core::Tree tree_;
  // Members whose loss was reported to the sink.
  std::vector<bool> reported_down_;
  // This agent rejoined after a partition; until its new parent has sent it the
  // membership, it accepts no children.
  bool rejoined_ = false;
  bool rejoining_ = false;  // all members are being reported lost
  bool members_synced_ = true;
  uint32_t reported_up_ = 0;
  bool reported_ready_ = false;
  std::map<NodeId, std::string> link_errors_;

  std::map<NodeId, NeighborRef> neighbors_;
  std::set<NodeId> congested_;
  bool reconcile_scheduled_ = false;

  // The dial under way (to the parent, or a probe), and when the next one is.
  std::unique_ptr<ClientHandshake> client_handshake_;
  EventLoop::TimerId redial_timer_ = 0;
  uint32_t redial_ms_ = 0;
  NodeId probe_next_ = 0;
  EventLoop::TimerId probe_timer_ = 0;
  std::vector<std::unique_ptr<FarewellStream>> farewells_;
  std::map<uint64_t, std::unique_ptr<ServerHandshake>> server_handshakes_;
  uint64_t next_server_handshake_ = 1;

  uint64_t next_message_ = 1;
  Reassembly reassembly_;
  EventLoop::TimerId sweep_timer_ = 0;
  // Packets without a route until the views of the tree converge.
  std::vector<Packet> unroutable_;

  std::function<void()> left_;
  std::function<void()> announced_;
  EventLoop::TimerId leave_timer_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_
