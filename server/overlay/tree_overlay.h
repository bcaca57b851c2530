// A member of the overlay, the tree of agents: routes messages between members
// over streams along the edges of core::Tree, and reports changes of the
// membership. Combines the membership view, the links and the router of this
// member. It does not depend on the kind of transport, and has no thread.
#ifndef CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/core/tree.h"
#include "server/overlay/config.h"
#include "server/overlay/link_set.h"
#include "server/overlay/member_table.h"
#include "server/overlay/membership_view.h"
#include "server/overlay/router.h"
#include "server/overlay/stream.h"
#include "server/ports/input_sink.h"
#include "server/ports/overlay_port.h"

namespace canopy::overlay {

// Loop thread only. Inputs for the sink: core::PeerArrived, core::MemberAdded,
// core::NodeStateChanged and core::NodeRestarted.
//
// Order: messages from one source to one target arrive exactly once and in the
// order sent, within each priority class. Small messages overtake large data,
// and both overtake process output and input (PriorityOf in translate.h). The
// loss of a member on the path may lose messages in flight; the core sends them
// again on NodeStateChanged or NodeRestarted.
class TreeOverlay final : public OverlayPort,
                          private LinkSet::Listener,
                          private Router::Listener {
 public:
  // `loop` and `sink` must outlive the overlay.
  TreeOverlay(EventLoop* loop, InputSink* sink,
              std::unique_ptr<Transport> transport, const OverlayConfig& config,
              OverlayEvents events);
  // Ends all links and waits until the transport has released them.
  ~TreeOverlay() override;

  // Listens at the configured address. Members may link from now on. The error
  // is that of Transport::Listen.
  Status Listen();
  // Returns the port after Listen; 0 for a Unix socket.
  int port() const { return transport_->port(); }
  // Returns the configured address, with the actual port after Listen.
  const std::string& address() const { return address_; }
  // Returns how the links are served, and why, as text for the log.
  const std::string& driver() const { return transport_->driver(); }

  // Corrects a member's address. Called before Join, or for a member that
  // returns.
  void SetAddress(NodeId node, std::string address) {
    view_.SetAddress(node, std::move(address));
  }
  // Sets the description of this agent's node, at most kMaxDescription bytes,
  // which OverlayEvents::description brings to all members. Called before Join.
  void Describe(const std::string& description) {
    view_.SetOwnDescription(description);
  }
  // Starts to dial the parent. `known` contains the records of the members and,
  // if the overlay is running, their states, as another agent knows them.
  void Join(const Members& known = {});
  // Publishes a decision about a member, or adds the member whose number is the
  // number of members so far. The record gets the member's next version. Called
  // at the root. Returns kErrExists if the member was removed,
  // kErrOutOfResource for too many members, and kErrBadParam for a greater
  // number or a description over kMaxDescription.
  Status Decide(MemberRecord record);
  // Returns the records and states of all members, for a new member's Join.
  Members Known() const;
  // Announces over the established links that this member leaves, and then ends
  // them. Calls `done` on the loop thread when the announcement has been sent,
  // at the latest after leave_ms.
  void Leave(std::function<void()> done);
  // Announces a handover: the neighbours wait up to `ms` milliseconds for the
  // successor. Calls `done` on the loop thread when the announcement has been
  // sent, at the latest after leave_ms; the caller should then replace this
  // agent's program.
  void AnnounceHandover(uint32_t ms, std::function<void()> done);
  // Sends a message to `dst`, which must be another member. A message to a lost
  // member is dropped.
  void Send(const core::PeerMessage& message) override;
  // Ends all links at once and stops listening. Blocks for milliseconds until
  // the transport has released them. No callback runs afterwards.
  void Stop();

  const MemberTable& table() const { return view_.table(); }
  const core::Tree& tree() const { return view_.tree(); }
  // Returns the root of the tree, in this member's view; kNoNode if every
  // member is lost.
  NodeId root() const { return tree().root(); }
  // Returns the number of members that are up, this one included.
  uint32_t members_up() const { return table().up_count(); }
  // Returns true if every member that was not removed is up, in this member's
  // view.
  bool ready() const { return view_.complete(); }
  // Returns the incarnation of this member.
  uint64_t incarnation() const { return table().Incarnation(config_.self); }
  // Returns the time in nanoseconds after which a neighbour without a link
  // counts as lost. Returns no value if the node is no neighbour or is linked,
  // or if there is no time limit.
  std::optional<int64_t> TimeToLoss(NodeId node) const {
    return links_.TimeToLoss(node);
  }
  // On the path from `node` up to this agent, returns the first member that is
  // not lost and to which its parent has no link. Returns kNoNode if there is
  // none.
  NodeId GapTowards(NodeId node) const { return view_.GapTowards(node); }

 private:
  enum class State { kIdle, kJoined, kLeaving, kStopped };

  // LinkSet::Listener.
  void OnRecord(const MemberRecord& record, NodeId from) override {
    MergeRecord(record, from);
  }
  void OnMember(const MemberState& state, NodeId from) override;
  void OnPeer(const MemberState& state) override { Merge(state, state.node); }
  void OnPacket(Packet packet, NodeId from) override {
    router_.OnPacket(std::move(packet), from);
  }
  void OnUndelivered(std::vector<Packet> packets) override {
    router_.Reroute(std::move(packets));
  }
  void OnLinksChanged() override { ScheduleReconcile(); }
  void OnLinked(NodeId node) override;
  void OnChildAwaited(NodeId node) override;
  void OnActivity() override;
  void OnLinkError(NodeId node, const Status& error) override;
  void OnUnreachable(NodeId node, const std::string& reason) override;
  void OnExpelled(const std::string& reason) override { Rejoin(reason); }
  void OnRemoved(const std::string& reason) override;
  // Router::Listener.
  void OnMessage(core::PeerMessage&& message) override;
  void OnDropped(NodeId node, const Status& error) override {
    OnLinkError(node, error);
  }

  // Takes over an incoming stream.
  void Accept(std::shared_ptr<Stream> stream);
  // Returns a wrapper of `work` that does nothing once this object is
  // destroyed.
  std::function<void()> Guard(std::function<void()> work);
  void ScheduleReconcile();
  void Reconcile();
  void ReportProgress();
  bool MergeRecord(const MemberRecord& record, NodeId from);
  void Merge(const MemberState& state, NodeId from);
  void Apply(MembershipView::Change change, const MemberState& state);
  // `life` and `left` are as in core::NodeStateChanged.
  void Lost(NodeId node, const std::string& reason, uint64_t life,
            bool left = false);
  void Returned(NodeId node);
  void OnAbsence(NodeId node);
  void Restarted(NodeId node);
  void Rejoin(const std::string& reason);
  void StartLeaveTimer(std::function<void()>* done);
  void CheckLeft();
  void CheckAnnounced();

  EventLoop* const loop_;
  InputSink* const sink_;
  const OverlayConfig config_;
  const OverlayEvents events_;
  const std::unique_ptr<Transport> transport_;
  std::string address_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);

  State state_ = State::kIdle;
  MembershipView view_;
  LinkSet links_;
  Router router_;
  bool rejoining_ = false;  // the losses of all members are being reported
  bool reconcile_scheduled_ = false;
  uint32_t reported_up_ = 0;
  bool reported_ready_ = false;
  bool joins_running_ = false;  // the overlay ran before this member
  // The last error reported for each member.
  std::map<NodeId, std::string> link_errors_;

  std::function<void()> left_;
  std::function<void()> announced_;
  EventLoop::TimerId leave_timer_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_
