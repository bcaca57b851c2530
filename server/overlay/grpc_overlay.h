// The tree of agents: routes messages between members over gRPC streams along
// the edges of core::Tree, and reports changes of the membership.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/overlay/config.h"
#include "server/ports/input_sink.h"
#include "server/ports/overlay_port.h"

namespace canopy::overlay {

class GrpcTransport;
class TreeOverlay;

// Loop thread only. Inputs for the sink: core::PeerArrived,
// core::NodeStateChanged and core::NodeRestarted.
//
// Order: messages from one source to one target arrive exactly once and in the
// order sent, within each priority class. Small messages overtake large data,
// and both overtake process output and input (PriorityOf in translate.h). The
// loss of a member on the path may lose messages in flight; the core sends them
// again on NodeStateChanged or NodeRestarted.
class GrpcOverlay : public OverlayPort {
 public:
  // `loop` and `sink` must outlive the overlay.
  GrpcOverlay(EventLoop* loop, InputSink* sink, OverlayConfig config,
              OverlayEvents events);
  // Ends all links and waits until gRPC has released them.
  ~GrpcOverlay() override;

  // Starts the gRPC server; members may link from now on.
  Status Listen();
  // Where the server listens: the port (0 for a Unix socket), and the address
  // in the configured form with the actual port.
  int port() const;
  const std::string& address() const;
  // Which driver serves the links, and why: for the log.
  const std::string& driver() const;

  // Corrects a member's address, before Join or for a member that returns.
  void SetAddress(NodeId node, std::string address);
  // Starts to dial the parent.
  void Join();

  // Announces over the established links that this member leaves, then ends
  // them. `done` runs on the loop thread when the announcement was sent, at the
  // latest after leave_ms.
  void Leave(std::function<void()> done);

  // Announces a handover: the neighbours wait up to `ms` for the successor.
  // `done` runs on the loop thread when the announcement was sent, at the
  // latest after leave_ms; the caller should end this agent then.
  void AnnounceHandover(uint32_t ms, std::function<void()> done);

  // `dst` must be another member. A message to a lost member is dropped.
  void Send(const core::PeerMessage& message) override;

  // True if every member is up, in this member's view.
  bool ready() const;
  // Number of members that are up, this one included.
  uint32_t members_up() const;
  NodeId root() const;
  // Returns the time in nanoseconds after which a neighbour without a link
  // counts as lost, or nothing if that does not apply.
  std::optional<int64_t> TimeToLoss(NodeId node) const;
  // Returns the incarnation of this member.
  uint64_t incarnation() const;

  // Ends all links at once and shuts the server down. Blocks for milliseconds
  // until gRPC has released them. No callback runs afterwards.
  void Stop();

 private:
  const OverlayConfig config_;
  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<TreeOverlay> tree_;
  std::string address_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
