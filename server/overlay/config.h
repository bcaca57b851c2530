// Configuration of an overlay, and the callbacks beside its inputs to the core.
#ifndef CANOPY_SERVER_OVERLAY_CONFIG_H_
#define CANOPY_SERVER_OVERLAY_CONFIG_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/overlay/compatibility.h"
#include "server/rpc/driver_kind.h"
#include "server/security/credentials.h"

namespace canopy::overlay {

struct Member {
  std::string name;
  std::string address;  // "host:port"; may be set later
};

struct OverlayConfig {
  NodeId self = 0;
  std::vector<Member> members;  // NodeId is the index; the same everywhere
  uint32_t radix = 32;          // >= 2
  std::string listen;           // "host:port", port 0 picks one
  std::string overlay_id;       // the same for all members
  uint64_t incarnation = 0;     // larger at each start; 0: taken from the clock
  // This agent recovered the processes of a predecessor on this node: members
  // that have not declared the predecessor lost see a restart and no loss.
  bool recovered = false;
  security::SecurityConfig security;

  // A silent peer is detected within this time.
  uint32_t detect_ms = 5000;
  // How long a broken link may take to be re-established, also by a successor
  // agent, before the peer counts as lost.
  uint32_t grace_ms = 2000;
  // How long a member that was never seen is waited for before it counts as
  // lost. 0: for ever.
  uint32_t join_timeout_ms = 60000;
  // Between attempts to dial: from the first to the last, doubling.
  uint32_t redial_min_ms = 20;
  uint32_t redial_max_ms = 1000;
  // How long after the last change of the membership, beyond detect_ms and
  // grace_ms, packets may still be under way on paths of an earlier tree. Later
  // a packet whose source is not on its neighbour's side of the tree is forged,
  // and dropped.
  uint32_t settle_ms = 60000;
  // How long a leaving member waits for its neighbours' acknowledgements.
  uint32_t leave_ms = 1000;

  // A peer with more than this waiting for it is declared lost.
  size_t queue_limit_bytes = size_t{4} << 30;
  // Largest message, and the sum of messages being reassembled.
  size_t message_limit_bytes = size_t{1} << 30;

  // How gRPC's completions reach the loop. Unset: the fast way, when a
  // self-test shows that it works with the gRPC that is loaded.
  std::optional<rpc::DriverKind> driver;

  // Protocol versions spoken. A `version` below the newest makes this agent
  // behave as one of that version.
  uint32_t version = kNewestVersion;
  uint32_t oldest_version = kOldestVersion;
};

// All optional; called on the loop thread. They may call Send, but must not
// destroy the overlay.
struct OverlayEvents {
  // A member came or went: how many of `total` are up, this one included. At
  // the root this is the progress of the whole tree's assembly.
  std::function<void(uint32_t up, uint32_t total)> progress;
  // Once, when every member is up and connected for the first time.
  std::function<void()> ready;
  // A link attempt failed; the text is for an operator: unreachable, wrong
  // cluster key (kErrInvalidCred), wrong version or overlay
  // (kErrHandshakeFailed). Attempts continue. Repetitions of a text for one
  // node are suppressed.
  std::function<void(NodeId, const Status&)> link_error;
  // The other members have declared this one lost (it was partitioned or
  // stalled too long). It rejoins by itself as a new incarnation; the sink gets
  // NodeStateChanged for the loss of all others and for each that returns.
  std::function<void(const std::string& reason)> expelled;
  // Connections were refused or ended that nobody has asked for: a line for the
  // log, at a limited rate.
  std::function<void(const std::string& line)> warning;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_CONFIG_H_
