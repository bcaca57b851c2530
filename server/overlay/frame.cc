#include "server/overlay/frame.h"

#include <algorithm>
#include <utility>

#include "common/describe.h"

namespace canopy::overlay {
namespace {

// Limits for what a peer may send, in bytes.
constexpr size_t kMaxName = 1024;
constexpr size_t kMaxReason = 4096;
constexpr size_t kMaxSecret = 64;

// Pieces up to this size are copied into the frame, which is cheaper than an
// additional buffer.
constexpr size_t kCopyPiece = 4096;

constexpr uint32_t kPacketsField = 4;
constexpr uint32_t kPieceField = 7;

}  // namespace

template <typename V>
void Describe(V& v, wire::Is<Hello> auto& m) {
  v.Field(1, m.version);
  v.Field(2, m.oldest_version);
  v.Field(3, m.node);
  v.Bounded(4, m.node_name, kMaxName);
  v.Field(5, m.incarnation);
  v.Bounded(6, m.overlay_id, kMaxSecret);
  v.Bounded(7, m.nonce, kMaxSecret);
  v.Field(8, m.received);
  v.Bounded(9, m.address, kMaxName);
  v.Field(10, m.peer_incarnation);
  v.Field(11, m.recovered);
}

template <typename V>
void Describe(V& v, wire::Is<Welcome> auto& m) {
  v.Field(1, m.version);
  v.Field(2, m.node);
  v.Field(3, m.incarnation);
  v.Bounded(4, m.nonce, kMaxSecret);
  v.Bounded(5, m.proof, kMaxSecret);
  v.Field(6, m.received);
  v.Bounded(7, m.node_name, kMaxName);
  v.Field(8, m.peer_incarnation);
  v.Field(9, m.recovered);
}

template <typename V>
void Describe(V& v, wire::Is<Proof> auto& m) {
  v.Bounded(1, m.proof, kMaxSecret);
}

template <typename V>
void Describe(V& v, wire::Is<Packet> auto& m) {
  v.Field(1, m.number);
  v.Field(2, m.source);
  v.Field(3, m.target);
  v.Field(4, m.message);
  v.Field(5, m.more);
  v.Field(6, m.priority);
  v.Field(kPieceField, m.piece);
}

template <typename V>
void Describe(V& v, wire::Is<MemberState> auto& m) {
  v.Field(1, m.node);
  v.Field(2, m.incarnation);
  v.Field(3, m.up);
  v.Bounded(4, m.reason, kMaxReason);
  v.Bounded(5, m.address, kMaxName);
  v.Field(6, m.recovered);
  v.Field(7, m.version);
  v.Field(8, m.absences);
  v.Bounded(9, m.description, kMaxDescription);
}

template <typename V>
void Describe(V& v, wire::Is<MemberRecord> auto& m) {
  v.Field(1, m.node);
  v.Field(2, m.version);
  v.Bounded(3, m.name, kMaxName);
  v.Bounded(4, m.description, kMaxDescription);
  v.Field(5, m.service);
  v.Bounded(6, m.reason, kMaxReason);
  v.Field(7, m.since_ms);
}

template <typename V>
void Describe(V& v, wire::Is<Members> auto& m) {
  v.Field(1, m.changes);
  v.Field(2, m.records);
}

// Describes all fields of a frame, for reading. RopeWriter writes the packets
// separately.
template <typename V>
void Describe(V& v, wire::Is<Frame> auto& m) {
  v.Field(1, m.hello);
  v.Field(2, m.welcome);
  v.Field(3, m.proof);
  v.Field(kPacketsField, m.packets);
  v.Field(5, m.received);
  v.Field(6, m.members);
  v.Field(7, m.planned_downtime_ms);
}

namespace {

// A frame without its packets, for writing.
struct FrameHead {
  const Frame& frame;
};
template <typename V>
void Describe(V& v, const FrameHead& m) {
  v.Field(1, m.frame.hello);
  v.Field(2, m.frame.welcome);
  v.Field(3, m.frame.proof);
  v.Field(5, m.frame.received);
  v.Field(6, m.frame.members);
  v.Field(7, m.frame.planned_downtime_ms);
}

class RopeWriter {
 public:
  void AddHead(const Frame& frame) {
    const FrameHead head{frame};
    wire::Writer writer(Extend(wire::SizeOf(head)));
    Describe(writer, head);
  }
  void AddPacket(const Packet& packet) {
    const size_t size = wire::SizeOf(packet);
    const size_t head = wire::Writer::HeadSize(kPacketsField, size);
    const size_t apart =
        packet.piece.size() <= kCopyPiece ? 0 : packet.piece.size();
    wire::Writer writer(Extend(head + size - apart));
    writer.Head(kPacketsField, size);
    if (apart == 0) return Describe(writer, packet);
    Packet rest = packet;
    rest.piece = Bytes();
    Describe(writer, rest);
    writer.Head(kPieceField, apart);
    Flush();
    rope_.push_back(packet.piece);
  }
  Rope Take() {
    Flush();
    return std::move(rope_);
  }

 private:
  // Appends n bytes and returns a pointer to them.
  char* Extend(size_t n) {
    text_.resize(text_.size() + n);
    return text_.data() + text_.size() - n;
  }
  void Flush() {
    if (!text_.empty()) rope_.emplace_back(std::exchange(text_, {}));
  }

  std::string text_;
  Rope rope_;
};

bool PacketsFit(const Frame& frame) {
  for (const Packet& p : frame.packets) {
    if (p.piece.size() > kMaxPiece) return false;
  }
  return true;
}

bool RecordsFit(const Members& members) {
  return std::ranges::all_of(members.records, [](const MemberRecord& record) {
    return record.service <= Service::kRemoved;
  });
}

}  // namespace

Rope EncodeFrame(const Frame& frame) {
  RopeWriter rope;
  rope.AddHead(frame);
  for (const Packet& packet : frame.packets) rope.AddPacket(packet);
  return rope.Take();
}

Members NoneUp(uint32_t size, NodeId self) {
  Members members;
  for (NodeId node = 0; node < size; ++node) {
    if (node == self) continue;
    MemberState& state = members.changes.emplace_back();
    state.node = node;
    state.reason = "its agent has not joined yet";
  }
  return members;
}

std::string EncodeMembers(const Members& members) {
  return wire::Encode(members);
}

Result<Members> DecodeMembers(std::string_view data) {
  Result<Members> members = Members();
  if (wire::Decode(data, &*members) && RecordsFit(*members)) return members;
  return Status(kErrUnpackFailure, "malformed list of members");
}

Result<Frame> DecodeFrame(const Bytes& data) {
  wire::ReadContext context{&data, 0};
  Result<Frame> frame = Frame();
  if (!wire::ReadMessage(&context, data.view(), &*frame) ||
      !PacketsFit(*frame) || (frame->members && !RecordsFit(*frame->members))) {
    return Status(kErrUnpackFailure, "malformed frame from a peer");
  }
  return frame;
}

}  // namespace canopy::overlay
