// The tree of agents: routes messages between members over gRPC streams along
// the edges of core::Tree, and reports membership.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
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

// Loop thread only, unless stated otherwise. Inputs given to the sink:
// core::PeerArrived, core::NodeStateChanged and core::NodeRestarted.
//
// Order: messages of one source to one target arrive exactly once and in the
// order sent, per priority class: small messages overtake large data, and both
// overtake process output and input (see PriorityOf in translate.h). Across the
// loss of a member in between, messages in flight may be lost; the core resends
// on NodeStateChanged or NodeRestarted.
class GrpcOverlay : public OverlayPort {
 public:
  // `loop` and `sink` must outlive the overlay.
  GrpcOverlay(EventLoop* loop, InputSink* sink, OverlayConfig config,
              OverlayEvents events);
  // Ends all links and waits until gRPC has released them.
  ~GrpcOverlay() override;

  // Starts the gRPC server: members may link from here on.
  Status Listen();
  // Where it listens: the port (0 for a Unix socket) and, in the configured
  // form with the port filled in, the address.
  int port() const;
  const std::string& address() const;
  // How gRPC's work for the links is done, and why so: for the log.
  const std::string& driver() const;

  // Corrects a member's address; before Join, or for one that returns.
  void SetAddress(NodeId node, std::string address);
  // Starts to dial the parent.
  void Join();

  // Announces over the established links that this member leaves, then ends
  // them. `done` runs on the loop thread when the announcement was sent (at
  // most a second later).
  void Leave(std::function<void()> done);

  // Announces a handover: the neighbours wait for the successor for `ms`.
  // `done` runs when the announcement was sent, at most a second later; end
  // this agent then.
  void AnnounceHandover(uint32_t ms, std::function<void()> done);

  // dst must be another member. A message to a lost member is dropped.
  void Send(const core::PeerMessage& message) override;

  // Every member is up, in this member's view.
  bool ready() const;
  // Members that are up, this one included.
  uint32_t members_up() const;
  NodeId root() const;

  // Ends all links at once and shuts the server down; blocks until gRPC has
  // released them (milliseconds). Afterwards no callback runs.
  void Stop();

 private:
  const OverlayConfig config_;
  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<TreeOverlay> tree_;
  std::string address_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
