// The agent's connection to the overlay. It is empty if the agent is the only
// member.
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
#include "server/agent/wiring/null_overlay.h"
#include "server/overlay/config.h"
#include "server/overlay/tree_overlay.h"
#include "server/ports/input_sink.h"
#include "server/ports/overlay_port.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Loop thread only.
class OverlayAdapter {
 public:
  // `loop`, `sink` and `config` outlive this object. `node_name` returns the
  // name of a member for the log.
  OverlayAdapter(EventLoop* loop, InputSink* sink,
                 const bootstrap::v1::Config& config,
                 std::function<std::string(NodeId)> node_name);
  // Ends all links.
  ~OverlayAdapter();
  OverlayAdapter(const OverlayAdapter&) = delete;
  OverlayAdapter& operator=(const OverlayAdapter&) = delete;

  // True for an embedded agent without peers: it has no links and does not
  // listen.
  bool alone() const;
  // Listens for links. `recovered` means that this agent has the jobs of a
  // predecessor, so that the other members do not count this node as lost.
  Status Listen(bool recovered);
  // `ready` runs in a later round, when this agent is linked to its neighbours.
  void Join(const bootstrap::v1::Members& members, std::function<void()> ready);
  // `left` runs when the members have been notified; during the call if the
  // agent is alone.
  void Leave(std::function<void()> left);
  // As HandoverActions::AnnounceToNeighbours.
  void AnnounceHandover(uint32_t downtime_ms, std::function<void()> announced);

  // Logs which driver handles gRPC's completions for the links, and why.
  void LogDriver() const;

  OverlayPort* port();
  // Returns the incarnation of this agent; 0 if alone.
  uint64_t incarnation() const;
  // Returns the HOST:PORT of its links after Listen; empty if alone.
  std::string address() const;
  // Returns whether it is linked to another member, or needs no link.
  bool linked() const;
  // See TreeOverlay::TimeToLoss.
  std::optional<int64_t> TimeToLoss(NodeId node) const;
  // Valid after Listen, unless it is alone.
  const security::SecurityConfig& security() const { return security_; }

 private:
  overlay::OverlayConfig MakeConfig(bool recovered) const;
  overlay::OverlayEvents MakeEvents();

  EventLoop* const loop_;
  InputSink* const sink_;
  const bootstrap::v1::Config& config_;
  const std::function<std::string(NodeId)> node_name_;
  security::SecurityConfig security_;
  std::function<void()> ready_;
  NullOverlay null_overlay_;
  std::unique_ptr<overlay::TreeOverlay> overlay_;  // null when alone
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_OVERLAY_ADAPTER_H_
