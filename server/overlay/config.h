// Configuration of an overlay, and its callbacks besides the inputs to the
// core.
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
#include "server/overlay/frame.h"
#include "server/rpc/driver_kind.h"
#include "server/security/credentials.h"

namespace canopy::overlay {

// Settings of an overlay are in milliseconds; its timers use nanoseconds.

struct Member {
  std::string name;
  std::string address;  // "host:port"; may be set later
};

struct OverlayConfig {
  NodeId self = 0;
  // The members that this agent knows from its beginning, indexed by NodeId.
  // The lists of two members are equal, or one is the beginning of the other.
  std::vector<Member> members;
  uint32_t radix = 32;       // >= 2
  std::string listen;        // "host:port"; port 0 selects a free port
  std::string overlay_id;    // the same for all members
  uint64_t incarnation = 0;  // larger at each start; 0: taken from the clock
  // The incarnation with which the predecessor started; 0: there was none. This
  // agent uses a larger one even if the clock has been set back since then.
  uint64_t predecessor = 0;
  // True if this agent has recovered the processes of a predecessor. Members
  // that have not declared the predecessor lost then see a restart instead of a
  // loss.
  bool recovered = false;
  security::SecurityConfig security;

  // A connection ends if there was no sign of life from the peer for this time.
  // It is also the limit for a handshake and for establishing a connection.
  uint32_t detect_ms = 5000;
  // Time in which a broken link must be re-established, possibly by a successor
  // agent, before the peer counts as lost.
  uint32_t grace_ms = 2000;
  // Time after which a member that has never been up counts as lost; 0: never.
  uint32_t join_timeout_ms = 60000;
  // Pause between attempts to dial. Each pause is twice as long as the one
  // before, from the minimum up to the maximum.
  uint32_t redial_min_ms = 20;
  uint32_t redial_max_ms = 1000;
  // Time after a member's last change, in addition to detect_ms and grace_ms,
  // in which packets may still travel along paths of an earlier tree. A packet
  // from a neighbour that is not on a path to the packet's source counts as
  // forged and is dropped (SourcePaths).
  uint32_t settle_ms = 60000;
  // Longest time that a leaving member waits for its neighbours'
  // acknowledgements.
  uint32_t leave_ms = 1000;

  // A peer for which more bytes than this are queued counts as lost.
  size_t queue_limit_bytes = size_t{4} << 30;
  // Limit for one message, and for the sum of messages being reassembled.
  size_t message_limit_bytes = size_t{1} << 30;

  // The driver that brings gRPC's completions to the loop. Unset: the faster
  // one if a self-test shows that it works with the loaded gRPC, otherwise the
  // other.
  std::optional<rpc::DriverKind> driver;

  // The newest and the oldest protocol version that this agent speaks.
  uint32_t version = kNewestVersion;
  uint32_t oldest_version = kOldestVersion;
};

// All callbacks are optional and called on the loop thread. They may call Send,
// but must not destroy the overlay.
struct OverlayEvents {
  // A member joined or was lost: `up` of `total` members are up, this one
  // included. At the root, this shows the progress of assembling the tree.
  std::function<void(uint32_t up, uint32_t total)> progress;
  // The result of TreeOverlay::GapTowards may have changed for some members.
  std::function<void()> reachability;
  // Called once: when all members are up for the first time or, if this member
  // joins a running overlay, when it has its first link.
  std::function<void()> ready;
  // An attempt to link failed. The text is meant for an operator; causes are an
  // unreachable peer, a wrong cluster key (kErrInvalidCred), and a wrong
  // version or overlay (kErrHandshakeFailed). Attempts continue. Repetitions of
  // the same text for a node are suppressed.
  std::function<void(NodeId, const Status&)> link_error;
  // The other members have declared this member lost, because it was
  // partitioned or stalled too long. It rejoins automatically as a new
  // incarnation; the sink gets NodeStateChanged for the loss of each other
  // member and for each return.
  std::function<void(const std::string& reason)> expelled;
  // The root has decided about a member, or has added one.
  std::function<void(const MemberRecord&)> record;
  // A member that is up has described its node (TreeOverlay::Describe). Called
  // before the core learns that the member is up, if the description comes with
  // that state.
  std::function<void(NodeId, const std::string&)> description;
  // This member was removed, so other members refuse its links.
  std::function<void(const std::string& reason)> removed;
  // Called with a line for the log when connections of peers that have not
  // authenticated themselves were refused or ended. Called at a limited rate.
  std::function<void(const std::string& line)> warning;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_CONFIG_H_
