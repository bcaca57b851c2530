#include "server/overlay/router.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "common/time_units.h"
#include "server/overlay/translate.h"

namespace canopy::overlay {
namespace {

constexpr size_t kMaxUnroutable = 4096;
constexpr int64_t kRetryNs = 50 * kNsPerMs;
// The time from the loss of a member to the next call of Reassembly::Sweep,
// which drops messages whose other pieces may have been lost with the member.
constexpr int64_t kSweepNs = 30000 * kNsPerMs;

// Returns the time after which every packet that was sent in an earlier tree
// has arrived or is lost.
int64_t WindowNs(const OverlayConfig& config) {
  return (int64_t{config.settle_ms} + config.detect_ms + config.grace_ms) *
         kNsPerMs;
}

Result<core::MessageBody> DecodeWithMemory(const Bytes& data) {
  try {
    return DecodeBody(data);
  } catch (const std::bad_alloc&) {
    return Status(kErrOutOfResource, "no memory for a message");
  }
}

}  // namespace

Router::Router(EventLoop* loop, const OverlayConfig* config,
               const MembershipView* view, PacketLinks* links,
               Listener* listener)
    : loop_(loop),
      config_(config),
      view_(view),
      links_(links),
      listener_(listener),
      reassembly_(config->message_limit_bytes),
      source_paths_(view, WindowNs(*config)) {
  source_paths_.OnBegin(EventLoop::Now());
}

Router::~Router() { Clear(); }

void Router::Clear() {
  unroutable_.clear();
  for (EventLoop::TimerId* timer : {&sweep_timer_, &retry_timer_}) {
    if (*timer != 0) loop_->CancelTimer(std::exchange(*timer, 0));
  }
}

// ---------------------------------------------------------------- sending ---

void Router::Send(const core::PeerMessage& message) {
  const NodeId self = view_->self();
  assert(message.dst != self && message.dst < view_->table().size());
  if (message.dst >= view_->table().size() || message.dst == self ||
      view_->table().Down(message.dst)) {
    return;
  }
  std::string encoded = EncodeBody(message.body);
  if (encoded.size() > config_->message_limit_bytes) {
    listener_->OnDropped(
        message.dst, Status(kErrOutOfResource,
                            "a message of " + std::to_string(encoded.size()) +
                                " bytes is over the limit of " +
                                std::to_string(config_->message_limit_bytes)));
    core::MessageBody rest = message.body;
    if (!WithoutData(&rest)) return;
    encoded = EncodeBody(rest);
  }
  Packet packet;
  packet.source = self;
  packet.target = message.dst;
  packet.message = next_message_++;
  packet.priority = PriorityOf(message.body, encoded.size());
  const Bytes whole(std::move(encoded));
  for (size_t at = 0; at < whole.size(); at += kMaxPiece) {
    packet.piece = whole.Slice(at, kMaxPiece);
    packet.more = at + kMaxPiece < whole.size();
    Route(packet, kNoNode);
  }
}

void Router::Route(Packet packet, NodeId from) {
  if (view_->table().Down(packet.target)) return;
  NodeId hop = packet.target;
  if (!links_->Linked(hop)) {
    hop = view_->tree().NextHop(view_->self(), packet.target);
    // If the next hop is the neighbour that has sent the packet, that
    // neighbour's view of the tree differs from this agent's, so the packet
    // waits until the views agree.
    if (hop == kNoNode || hop == from) return Hold(std::move(packet));
  }
  links_->Enqueue(hop, std::move(packet));
}

void Router::Hold(Packet packet) {
  if (unroutable_.size() < kMaxUnroutable) {
    unroutable_.push_back(std::move(packet));
  } else {
    listener_->OnDropped(
        packet.target,
        Status(kErrOutOfResource,
               "a message was dropped: more than " +
                   std::to_string(kMaxUnroutable) +
                   " packets wait for the views of the tree to converge"));
  }
  if (retry_timer_ != 0) return;
  retry_timer_ = loop_->AddTimer(kRetryNs, [this] {
    retry_timer_ = 0;
    Retry();
  });
}

void Router::Reroute(std::vector<Packet> packets) {
  for (Packet& packet : packets) Route(std::move(packet), kNoNode);
}

void Router::Retry() {
  if (!unroutable_.empty()) Reroute(std::exchange(unroutable_, {}));
}

// -------------------------------------------------------------- receiving ---

void Router::OnPacket(Packet packet, NodeId from) {
  const uint32_t members = view_->table().size();
  if (packet.source >= members || packet.source == view_->self() ||
      packet.target >= members) {
    return;
  }
  if (!source_paths_.MayCome(packet.source, from, EventLoop::Now())) {
    return listener_->OnDropped(
        from, Status(kErrInvalidCred,
                     view_->name(from) + " has sent a message in the name of " +
                         view_->name(packet.source) +
                         ", which was dropped: the tree has no such path"));
  }
  if (packet.target == view_->self()) return Deliver(packet);
  Route(std::move(packet), from);
}

void Router::Deliver(const Packet& packet) {
  const Reassembly::Added added = reassembly_.Add(packet);
  if (added.outcome == Reassembly::Outcome::kIncomplete) return;
  if (added.outcome == Reassembly::Outcome::kRefused) {
    return Refuse(packet.source, added.bytes);
  }
  auto body = DecodeWithMemory(added.bytes);
  if (!body.ok() && body.code() == kErrOutOfResource) {
    return Refuse(packet.source, added.bytes);
  }
  if (!body.ok()) return listener_->OnDropped(packet.source, body.status());
  listener_->OnMessage({packet.source, view_->self(), std::move(*body)});
}

// Reports a message that exceeds the limit. The operation that waits for the
// message's data gets an error.
void Router::Refuse(NodeId source, const Bytes& head) {
  listener_->OnDropped(
      source,
      Status(kErrOutOfResource,
             "a message was dropped: those that arrive at once are "
             "over the limit of " +
                 std::to_string(config_->message_limit_bytes) + " bytes"));
  auto failed = DecodeWithoutData(head);
  if (!failed) return;
  listener_->OnMessage({source, view_->self(), std::move(*failed)});
}

// ---------------------------------------------------------------- members ---

void Router::ForgetSource(NodeId node) { reassembly_.DropSource(node); }

void Router::OnLoss(NodeId node) {
  ForgetSource(node);
  if (sweep_timer_ != 0) return;
  sweep_timer_ = loop_->AddTimer(kSweepNs, [this] {
    sweep_timer_ = 0;
    reassembly_.Sweep();
  });
}

void Router::OnMemberChanged(NodeId node) {
  source_paths_.OnChanged(node, EventLoop::Now());
}

void Router::OnRejoin() { source_paths_.OnBegin(EventLoop::Now()); }

}  // namespace canopy::overlay
