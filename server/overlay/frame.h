// The frames of a link: Frame of protos/overlay.proto as plain structs.
#ifndef CANOPY_SERVER_OVERLAY_FRAME_H_
#define CANOPY_SERVER_OVERLAY_FRAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::overlay {

// Largest piece of a message in one packet, in bytes.
inline constexpr size_t kMaxPiece = size_t{256} << 10;
// Limit for the bytes of packets in one frame. The last packet of a frame may
// exceed it.
inline constexpr size_t kMaxFrame = size_t{256} << 10;
// Limit for the number of packets that Link::Fill puts into a frame, because a
// frame is handled as a whole, and each packet may be a message.
inline constexpr size_t kMaxPackets = 64;
// Largest description of a member, in bytes.
inline constexpr size_t kMaxDescription = size_t{64} << 10;
// Largest number of members, with those that were removed.
inline constexpr uint32_t kMaxMembers = uint32_t{1} << 20;

struct Hello {
  uint32_t version = 0;
  uint32_t oldest_version = 0;
  NodeId node = 0;
  std::string node_name;
  uint64_t incarnation = 0;
  std::string overlay_id;
  std::string nonce;
  uint64_t received = 0;
  std::string address;
  uint64_t peer_incarnation = 0;
  bool recovered = false;
};

struct Welcome {
  uint32_t version = 0;
  NodeId node = 0;
  uint64_t incarnation = 0;
  std::string nonce;
  std::string proof;
  uint64_t received = 0;
  std::string node_name;
  uint64_t peer_incarnation = 0;
  bool recovered = false;
};

struct Proof {
  std::string proof;
};

struct Packet {
  uint64_t number = 0;
  NodeId source = 0;
  NodeId target = 0;
  uint64_t message = 0;
  bool more = false;
  uint32_t priority = 0;
  Bytes piece;
};

struct MemberState {
  NodeId node = 0;
  uint64_t incarnation = 0;
  bool up = false;
  std::string reason;
  std::string address;
  bool recovered = false;
  // The newest protocol version that the member speaks; used by agents of later
  // versions.
  uint32_t version = 0;
  // An odd number means that the parent of the member in the tree has lost the
  // link to it and waits for it.
  uint32_t absences = 0;
  // The description of the node by its agent, if agents find each other without
  // a launcher. The overlay only forwards it.
  std::string description = {};
};

// How far a member serves jobs.
enum class Service : uint32_t { kInService = 0, kDrained = 1, kRemoved = 2 };

// The root's last decision about a member. Members of the initial list have no
// record before the first decision about them; later members are added by a
// record.
struct MemberRecord {
  NodeId node = 0;
  uint64_t version = 0;  // grows with each decision about the member
  std::string name;
  // The description of the node, which the overlay only forwards.
  std::string description;
  Service service = Service::kInService;
  std::string reason;     // of the decision, for display
  uint64_t since_ms = 0;  // time of the decision, in ms since 1970

  bool operator==(const MemberRecord&) const = default;
};

struct Members {
  std::vector<MemberState> changes;
  std::vector<MemberRecord> records;  // to be applied before the changes
};

struct Frame {
  std::optional<Hello> hello;
  std::optional<Welcome> welcome;
  std::optional<Proof> proof;
  std::vector<Packet> packets;
  uint64_t received = 0;
  std::optional<Members> members;
  uint32_t planned_downtime_ms = 0;
};

// Encodes a frame. Large pieces are shared with the packets; small ones are
// copied.
Rope EncodeFrame(const Frame& frame);

// Decodes a frame of a peer; pieces share the bytes of `data`. Returns
// kErrUnpackFailure for malformed frames and for names, addresses and pieces
// over their limits.
Result<Frame> DecodeFrame(const Bytes& data);

// Returns the members 0 to `size` - 1 without `self`, each with the state of
// one that has never been up. An agent that joins with them acts as the root of
// an overlay of its own until it finds another one.
Members NoneUp(uint32_t size, NodeId self);

// Encodes and decodes members outside of a frame. DecodeMembers returns
// kErrUnpackFailure for malformed input.
std::string EncodeMembers(const Members& members);
Result<Members> DecodeMembers(std::string_view data);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_FRAME_H_
