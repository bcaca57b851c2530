// The tree of agents: routes messages between members over gRPC streams along
// the edges of core::Tree, and tells who is there.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/ports/ports.h"
#include "server/security/credentials.h"

namespace grpc {
class Service;
}

namespace canopy::overlay {

struct Member {
  std::string name;
  std::string address;  // "host:port" or "unix:path"; may be set later
};

struct OverlayConfig {
  NodeId self = 0;
  std::vector<Member> members;  // NodeId is the index; the same everywhere
  uint32_t radix = 32;          // >= 2
  std::string listen;           // "host:port", port 0 picks one; "unix:path"
  std::string overlay_id;       // the same for all members
  uint64_t incarnation = 0;     // larger at each start; 0: taken from the clock
  security::SecurityConfig security;
  bool reflection = false;  // gRPC server reflection

  // A peer that says nothing is found within this time.
  uint32_t detect_ms = 5000;
  // How long a broken link may take to come back before the peer counts as
  // lost.
  uint32_t grace_ms = 2000;
  // How long a member that was never seen is waited for before it counts as
  // lost. 0: for ever.
  uint32_t join_timeout_ms = 60000;
  // Between attempts to dial: from the first to the last, doubling.
  uint32_t redial_min_ms = 20;
  uint32_t redial_max_ms = 1000;

  // Bytes waiting on one link at which `congested(true)` is called; it is
  // called with false at half of it.
  size_t high_water_bytes = size_t{64} << 20;
  // A peer with more than this waiting for it is declared lost.
  size_t queue_limit_bytes = size_t{4} << 30;
  // Largest message, and the sum of messages being reassembled.
  size_t message_limit_bytes = size_t{1} << 30;

  // Protocol versions spoken; other values are for tests.
  uint32_t version = 1;
  uint32_t oldest_version = 1;
};

// All optional; called on the loop thread. They may call Send, but must not
// destroy the overlay.
struct OverlayEvents {
  // A member came or went: how many of `total` are up, this one included. At
  // the root this is the progress of the whole tree's assembly.
  std::function<void(uint32_t up, uint32_t total)> progress;
  // First time that every member is up and connected.
  std::function<void()> ready;
  // A link attempt failed, for a person: unreachable, wrong cluster key
  // (kErrInvalidCred), wrong version or overlay (kErrHandshakeFailed). Attempts
  // go on. The same text for the same node comes once.
  std::function<void(NodeId, const Status&)> trouble;
  // Too much waits on some link: stop making more bulk data for now.
  std::function<void(bool congested)> congested;
  // The others have declared this member lost; it is cut off until it starts
  // again with a larger incarnation.
  std::function<void(const std::string& reason)> expelled;
};

// Loop thread only, but for what is said otherwise. Inputs given to the sink:
// core::PeerArrived and core::NodeStateChanged.
//
// Order: messages of one source to one target arrive exactly once and in the
// order sent, per priority class: small messages overtake large data, and both
// overtake process output and input (see PriorityOf in message_priority.h).
// Across the loss of a member in between, messages under way may be lost;
// those who care see NodeStateChanged and send again.
class GrpcOverlay : public OverlayPort {
 public:
  // `loop` and `sink` must outlive the overlay.
  GrpcOverlay(EventLoop* loop, InputSink* sink, OverlayConfig config,
              OverlayEvents events);
  // Ends all links and waits until gRPC is done with them.
  ~GrpcOverlay() override;

  // A further service on the same gRPC server; before Listen. Not owned; must
  // live until Stop returns.
  void AddService(grpc::Service* service);

  // Starts the gRPC server: members may link from here on.
  Status Listen();
  // Where it listens: the port (0 for a Unix socket) and, in the configured
  // form with the port filled in, the address.
  int port() const;
  const std::string& address() const;

  // Corrects a member's address; before Join, or for one that returns.
  void SetAddress(NodeId node, std::string address);
  // Starts to dial the parent.
  void Join();

  // Tells the others that this member leaves, as far as links are up, then
  // ends them. `done` runs on the loop thread when all has been said (at most
  // a second later).
  void Leave(std::function<void()> done);

  // dst must be another member. A message to a lost member is dropped.
  void Send(core::PeerMessage message) override;

  // Every member is up, as far as is known here.
  bool ready() const;
  // Members that are up, this one included.
  uint32_t members_up() const;
  bool member_up(NodeId node) const;
  NodeId root() const;

  // Ends all links at once and shuts the server down; blocks until gRPC has
  // let go (milliseconds). Afterwards nothing is called any more.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
