// A member of the overlay: combines its membership view, its links and its
// router. Independent of the transport; has no thread of its own.
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

namespace canopy::overlay {

// Loop thread only. See GrpcOverlay for the contract of the calls.
class TreeOverlay final : private LinkSet::Listener, private Router::Listener {
 public:
  // All arguments must outlive the overlay.
  TreeOverlay(EventLoop* loop, InputSink* sink, Transport* transport,
              const OverlayConfig& config, OverlayEvents events);
  ~TreeOverlay() override;

  void SetOwnAddress(const std::string& address) {
    view_.SetOwnAddress(address);
  }
  void SetAddress(NodeId node, std::string address) {
    view_.SetAddress(node, std::move(address));
  }
  void Join();
  void Leave(std::function<void()> done);
  void AnnounceHandover(uint32_t ms, std::function<void()> done);
  void Send(const core::PeerMessage& message);
  // Takes an incoming stream.
  void Accept(std::shared_ptr<Stream> stream);
  // Drops every stream; no callback runs afterwards.
  void Stop();

  const MemberTable& table() const { return view_.table(); }
  const core::Tree& tree() const { return view_.tree(); }
  // See LinkSet::TimeToLoss.
  std::optional<int64_t> TimeToLoss(NodeId node) const {
    return links_.TimeToLoss(node);
  }

 private:
  enum class State { kIdle, kJoined, kLeaving, kStopped };

  // LinkSet::Listener.
  void OnMember(const MemberState& state, NodeId from) override;
  void OnPeer(const MemberState& state) override { Merge(state, state.node); }
  void OnPacket(Packet packet, NodeId from) override {
    router_.OnPacket(std::move(packet), from);
  }
  void OnUndelivered(std::vector<Packet> packets) override {
    router_.Reroute(std::move(packets));
  }
  void OnLinksChanged() override { ScheduleReconcile(); }
  void OnLinked(NodeId node) override { link_errors_.erase(node); }
  void OnActivity() override;
  void OnLinkError(NodeId node, const Status& error) override;
  void OnUnreachable(NodeId node, const std::string& reason) override;
  void OnExpelled(const std::string& reason) override { Rejoin(reason); }
  // Router::Listener.
  void OnMessage(core::PeerMessage&& message) override;
  void OnDropped(NodeId node, const Status& error) override {
    OnLinkError(node, error);
  }

  // Wraps work for the loop so that it does nothing once this object is
  // destroyed.
  std::function<void()> Guard(std::function<void()> work);
  void ScheduleReconcile();
  void Reconcile();
  void ReportProgress();
  void Merge(const MemberState& state, NodeId from);
  void Apply(MembershipView::Change change, const MemberState& state);
  // `life` and `left` are as in core::NodeStateChanged.
  void Lost(NodeId node, const std::string& reason, uint64_t life,
            bool left = false);
  void Returned(NodeId node);
  void Restarted(NodeId node);
  void Rejoin(const std::string& reason);
  void StartLeaveTimer(std::function<void()>* done);
  void CheckLeft();
  void CheckAnnounced();

  EventLoop* const loop_;
  InputSink* const sink_;
  const OverlayConfig config_;
  const OverlayEvents events_;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);

  State state_ = State::kIdle;
  MembershipView view_;
  LinkSet links_;
  Router router_;
  bool rejoining_ = false;  // the losses of all members are being reported
  bool reconcile_scheduled_ = false;
  uint32_t reported_up_ = 0;
  bool reported_ready_ = false;
  // The last error reported for each member.
  std::map<NodeId, std::string> link_errors_;

  std::function<void()> left_;
  std::function<void()> announced_;
  EventLoop::TimerId leave_timer_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TREE_OVERLAY_H_
