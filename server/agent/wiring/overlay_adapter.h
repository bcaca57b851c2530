// The agent's connection to the overlay. It has no effect while the agent is
// the only member.
#ifndef CANOPY_SERVER_AGENT_WIRING_OVERLAY_ADAPTER_H_
#define CANOPY_SERVER_AGENT_WIRING_OVERLAY_ADAPTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/core/messages.h"
#include "server/overlay/config.h"
#include "server/overlay/tree_overlay.h"
#include "server/ports/input_sink.h"
#include "server/ports/overlay_port.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Loop thread only.
class OverlayAdapter {
 public:
  struct Listener {
    // Returns the name of a member for the log.
    std::function<std::string(NodeId)> node_name;
    // The results of WhyAway may have changed.
    std::function<void()> reachability;
    // The root has decided about a member, or has added one.
    std::function<void(const overlay::MemberRecord&)> record;
    // A member has described its node by this bootstrap.NodeInfo.
    std::function<void(NodeId, const std::string& description)> description;
    // This member was removed from the overlay.
    std::function<void(const std::string& reason)> removed;
  };
  // `loop`, `sink` and `config` outlive this object.
  OverlayAdapter(EventLoop* loop, InputSink* sink,
                 const bootstrap::v1::Config& config, Listener listener);
  // Ends all links.
  ~OverlayAdapter();
  OverlayAdapter(const OverlayAdapter&) = delete;
  OverlayAdapter& operator=(const OverlayAdapter&) = delete;

  // Returns true for an embedded agent that started without peers, until Open.
  // It has no links and does not listen.
  bool alone() const { return alone_; }
  // Listens for links. `recovered` means that this agent has the jobs of a
  // predecessor, so that the other members do not count this node as lost.
  // Fails like MakeSecurity and GrpcOverlay::Listen.
  Status Listen(bool recovered);
  // Ends the time in which the agent is alone: listens at `listen` or, if that
  // is empty, at the agent's own address, so that new members can join. Called
  // after Join. Fails like Listen, and can then be called again.
  Status Open(const std::string& listen);
  // See TreeOverlay::Describe.
  void Describe(const bootstrap::v1::NodeInfo& info);
  // See TreeOverlay::SetAddress.
  void SetAddress(NodeId node, const std::string& address);
  // Links this agent with its neighbours. Calls `ready`, in a later round of
  // the loop, when all members are up or, if the members contain those of a
  // running overlay, when this agent has a link.
  void Join(const bootstrap::v1::Members& members, std::function<void()> ready);
  // See TreeOverlay::Decide. An agent that is alone decides for itself.
  Status Decide(overlay::MemberRecord record);
  // Returns what this agent knows of the members, for bootstrap.Members.known;
  // with `states`, also which are up.
  std::string Known(bool states) const;
  // Leaves the overlay. Calls `left` when the members have been notified, or
  // during this call if the agent is alone.
  void Leave(std::function<void()> left);
  // The operation HandoverActions::AnnounceToNeighbours.
  void AnnounceHandover(uint32_t downtime_ms, std::function<void()> announced);

  // Logs which driver handles gRPC's completions for the links, and the reason.
  void LogDriver() const;

  // Returns a port that is valid during the lifetime of this object.
  OverlayPort* port() { return &port_; }
  // Returns the incarnation of this agent; 0 if it is alone.
  uint64_t incarnation() const;
  // Returns the HOST:PORT of the agent's links after Listen; empty if it is
  // alone.
  std::string address() const;
  // Returns true if the agent is linked to another member, or needs no link.
  bool linked() const;
  // See TreeOverlay::TimeToLoss.
  std::optional<int64_t> TimeToLoss(NodeId node) const;
  // Returns why a member that is not lost does not receive messages now, or an
  // empty text.
  std::string WhyAway(NodeId node) const;
  // Returns the security of the links. Valid after Listen, unless the agent is
  // alone.
  const security::SecurityConfig& security() const { return security_; }

 private:
  // Forwards messages. Without peers, the core never sends any.
  class Port : public OverlayPort {
   public:
    explicit Port(OverlayAdapter* owner) : owner_(owner) {}
    void Send(const core::PeerMessage& message) override {
      if (owner_->overlay_) owner_->overlay_->Send(message);
    }

   private:
    OverlayAdapter* const owner_;
  };

  Status Link(const std::string& listen, bool recovered);
  overlay::OverlayConfig MakeConfig(const std::string& listen,
                                    bool recovered) const;
  overlay::OverlayEvents MakeEvents();

  EventLoop* const loop_;
  InputSink* const sink_;
  const bootstrap::v1::Config& config_;
  const Listener listener_;
  security::SecurityConfig security_;
  std::function<void()> ready_;
  bool alone_;
  Port port_{this};
  std::unique_ptr<overlay::TreeOverlay> overlay_;  // null when alone
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_OVERLAY_ADAPTER_H_
