// TreeOverlay: messages into packets, packets along the tree, and back.
#include <algorithm>
#include <cassert>
#include <utility>

#include "server/overlay/compatibility.h"
#include "server/overlay/neighbor.h"
#include "server/overlay/translate.h"
#include "server/overlay/tree_overlay.h"

namespace canopy::overlay {
namespace {

constexpr int64_t kMs = 1000000;
// An acknowledgement waits this long for a packet to travel with.
constexpr int64_t kAckDelayNs = 25 * kMs;
constexpr size_t kMembersPerFrame = 1024;
constexpr size_t kMaxLimbo = 4096;
// A neighbour is not waited for longer, whatever it announces.
constexpr uint32_t kMaxPlannedDowntimeMs = 600000;
constexpr int64_t kLimboNs = 50 * kMs;

}  // namespace

void TreeOverlay::Send(core::PeerMessage message) {
  assert(message.dst != config_.self && message.dst < table_.size());
  // A message to a member that is about to be reported lost stems from an
  // obsolete view.
  if (rejoining_ || state_ == State::kStopped || message.dst >= table_.size() ||
      message.dst == config_.self || table_.Down(message.dst)) {
    return;
  }
  RemoveNewerFields(config_.version, &message.body);
  std::string encoded = EncodeBody(message.body);
  if (encoded.size() > config_.message_limit_bytes) {
    ReportLinkError(message.dst, kErrOutOfResource,
                    "a message of " + std::to_string(encoded.size()) +
                        " bytes is over the limit of " +
                        std::to_string(config_.message_limit_bytes));
    if (!WithoutData(&message.body)) return;
    encoded = EncodeBody(message.body);
  }
  Packet packet;
  packet.source = config_.self;
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

void TreeOverlay::Route(Packet packet, NodeId from) {
  if (table_.Down(packet.target)) return;
  NeighborRef hop = Find(packet.target);
  if (hop == nullptr || hop->stream == nullptr) {
    const NodeId next = tree_.NextHop(config_.self, packet.target);
    if (next == kNoNode || next == from) {
      if (unroutable_.size() < kMaxLimbo)
        unroutable_.push_back(std::move(packet));
      loop_->AddTimer(kLimboNs, Guard([this] { ScheduleReconcile(); }));
      return;
    }
    hop = Get(next);
  }
  hop->link.Enqueue(std::move(packet));
  CheckCongestion(hop);
  ScheduleFlush(hop);
}

void TreeOverlay::Reroute(std::vector<Packet> packets, NodeId except) {
  for (Packet& packet : packets) Route(std::move(packet), except);
}

void TreeOverlay::CheckCongestion(const NeighborRef& neighbor) {
  const size_t waiting = neighbor->link.queued_bytes();
  const bool was = !congested_.empty();
  if (Find(neighbor->id) != neighbor ||
      waiting <= config_.high_water_bytes / 2) {
    congested_.erase(neighbor->id);
  } else if (waiting > config_.high_water_bytes) {
    congested_.insert(neighbor->id);
  }
  if (was == congested_.empty() && events_.congested) {
    events_.congested(!congested_.empty());
  }
  if (waiting > config_.queue_limit_bytes && Find(neighbor->id) == neighbor) {
    loop_->Defer(Guard([this, id = neighbor->id] {
      Declare(id, "too much waits to be sent to it");
    }));
  }
}

// ---------------------------------------------------------------- sending ---

void TreeOverlay::ScheduleFlush(const NeighborRef& neighbor) {
  if (neighbor->stream == nullptr) return;
  if (std::exchange(neighbor->flush_scheduled, true)) return;
  loop_->Defer(Guard([this, neighbor] {
    neighbor->flush_scheduled = false;
    Flush(neighbor, false);
  }));
}

void TreeOverlay::Flush(const NeighborRef& neighbor, bool ack_now) {
  Link& link = neighbor->link;
  while (neighbor->stream != nullptr &&
         (!neighbor->dirty.empty() || link.Waiting() || link.AckDue() ||
          (ack_now && link.AckOwed()))) {
    if (!neighbor->stream->Writable()) return;
    Frame frame;
    if (!neighbor->dirty.empty()) frame.members.emplace();
    while (!neighbor->dirty.empty() &&
           frame.members->changes.size() < kMembersPerFrame) {
      const NodeId member = *neighbor->dirty.begin();
      neighbor->dirty.erase(neighbor->dirty.begin());
      frame.members->changes.push_back(table_.State(member));
    }
    link.Fill(&frame, ack_now);
    neighbor->stream->Write(EncodeFrame(frame));
  }
  CheckCongestion(neighbor);
  if (neighbor->retiring && neighbor->stream != nullptr) Retire(neighbor);
  if (state_ == State::kLeaving) CheckLeft();
  if (announced_) CheckAnnounced();
}

void TreeOverlay::AckLater(const NeighborRef& neighbor) {
  if (neighbor->ack_timer != 0 || !neighbor->link.AckOwed()) return;
  neighbor->ack_timer = loop_->AddTimer(kAckDelayNs, Guard([this, neighbor] {
                                          neighbor->ack_timer = 0;
                                          Flush(neighbor, true);
                                          AckLater(neighbor);
                                        }));
}

// -------------------------------------------------------------- receiving ---

void TreeOverlay::OnFrame(const NeighborRef& neighbor, const Bytes& data) {
  if (neighbor->stream == nullptr) return;
  auto frame = DecodeFrame(data);
  if (!frame.ok() || frame->hello.has_value() || frame->welcome.has_value() ||
      frame->proof.has_value()) {
    return BreakLink(neighbor, "it sent a malformed frame");
  }
  RemoveNewerFields(config_.version, &*frame);
  if (frame->received != 0 && !neighbor->link.Acknowledge(frame->received)) {
    return BreakLink(neighbor, "it acknowledged what was never sent");
  }
  if (frame->planned_downtime_ms != 0) {
    neighbor->planned_downtime_ms =
        std::min(frame->planned_downtime_ms, kMaxPlannedDowntimeMs);
  }
  if (frame->members.has_value()) {
    if (neighbor->id < config_.self) members_synced_ = true;
    for (const MemberState& state : frame->members->changes) {
      Merge(state, neighbor->id);
      if (neighbor->stream == nullptr) return;
    }
  }
  if (!OnPackets(neighbor, std::move(frame->packets))) return;
  if (neighbor->link.AckDue() || neighbor->retiring ||
      state_ == State::kLeaving) {
    ScheduleFlush(neighbor);
  }
  AckLater(neighbor);
}

bool TreeOverlay::OnPackets(const NeighborRef& neighbor,
                            std::vector<Packet> packets) {
  for (Packet& packet : packets) {
    switch (neighbor->link.Arrived(packet)) {
      case Link::Arrival::kDuplicate:
        continue;
      case Link::Arrival::kGap:
        BreakLink(neighbor, "it left out a packet");
        return false;
      case Link::Arrival::kNew:
        break;
    }
    if (packet.source >= table_.size() || packet.source == config_.self ||
        packet.target >= table_.size()) {
      continue;
    }
    if (packet.target == config_.self) {
      Deliver(packet);
    } else {
      Route(std::move(packet), neighbor->id);
    }
  }
  return true;
}

void TreeOverlay::Deliver(const Packet& packet) {
  auto whole = reassembly_.Add(packet);
  if (!whole.ok()) {
    return ReportLinkError(packet.source, whole.code(),
                           whole.status().message());
  }
  if (!whole->has_value()) return;
  auto body = DecodeBody(**whole);
  if (!body.ok()) {
    return ReportLinkError(packet.source, body.code(), body.status().message());
  }
  RemoveNewerFields(config_.version, &*body);
  core::PeerMessage message;
  message.src = packet.source;
  message.dst = config_.self;
  message.body = std::move(*body);
  sink_->OnInput(core::PeerArrived{std::move(message)});
}

}  // namespace canopy::overlay
