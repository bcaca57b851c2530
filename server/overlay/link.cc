#include "server/overlay/link.h"

#include <algorithm>

namespace canopy::overlay {
namespace {

constexpr uint64_t kAckPackets = 64;
constexpr size_t kAckBytes = size_t{1} << 20;
// The bytes that a packet counts in a queue in addition to its piece.
constexpr size_t kOverhead = 64;

size_t Weight(const Packet& packet) { return packet.piece.size() + kOverhead; }

}  // namespace

void Link::Enqueue(Packet packet) {
  packet.priority = std::min(packet.priority, kPriorities - 1);
  queued_bytes_ += Weight(packet);
  queues_[packet.priority].push_back(std::move(packet));
}

void Link::Send(Packet packet, Frame* frame) {
  const MessageKey key(packet.source, packet.message);
  if (packet.more) {
    begun_.insert(key);
  } else if (!begun_.empty()) {
    begun_.erase(key);
  }
  packet.number = next_number_++;
  queued_bytes_ -= Weight(packet);
  frame->packets.push_back(packet);
  unacknowledged_.push_back(std::move(packet));
  replay_ = unacknowledged_.size();
}

bool Link::Fill(Frame* frame, bool ack_now) {
  size_t bytes = 0;
  const auto has_room = [&] { return frame->packets.size() < kMaxPackets; };
  while (replay_ < unacknowledged_.size() && bytes < kMaxFrame && has_room()) {
    bytes += Weight(unacknowledged_[replay_]);
    frame->packets.push_back(unacknowledged_[replay_++]);
  }
  for (auto& queue : queues_) {
    while (!queue.empty() && has_room() &&
           (bytes == 0 || bytes + Weight(queue.front()) <= kMaxFrame)) {
      bytes += Weight(queue.front());
      Packet packet = std::move(queue.front());
      queue.pop_front();
      Send(std::move(packet), frame);
    }
    if (!queue.empty()) break;
  }
  if (frame->packets.empty() && !AckDue() && !(ack_now && AckOwed())) {
    return false;
  }
  frame->received = received_;
  acknowledged_ = received_;
  bytes_unacknowledged_ = 0;
  return true;
}

bool Link::Acknowledge(uint64_t number) {
  if (number >= next_number_) return false;
  while (!unacknowledged_.empty() && unacknowledged_.front().number <= number) {
    unacknowledged_.pop_front();
    if (replay_ > 0) --replay_;
  }
  return true;
}

Link::Arrival Link::Arrived(const Packet& packet) {
  if (packet.number <= received_) return Arrival::kDuplicate;
  if (packet.number != received_ + 1) return Arrival::kGap;
  received_ = packet.number;
  bytes_unacknowledged_ += packet.piece.size();
  return Arrival::kNew;
}

bool Link::AckDue() const {
  return received_ - acknowledged_ >= kAckPackets ||
         bytes_unacknowledged_ >= kAckBytes;
}

bool Link::Resume(uint64_t peer_received) {
  if (!Acknowledge(peer_received)) return false;
  replay_ = 0;
  // The handshake has acknowledged everything received.
  acknowledged_ = received_;
  bytes_unacknowledged_ = 0;
  return true;
}

void Link::Reset() {
  unacknowledged_.clear();
  replay_ = 0;
  begun_.clear();
  next_number_ = 1;
  received_ = acknowledged_ = 0;
  bytes_unacknowledged_ = 0;
}

std::vector<Packet> Link::TakeUnsent(bool unacknowledged) {
  std::vector<Packet> taken;
  if (unacknowledged) {
    taken.assign(unacknowledged_.begin(), unacknowledged_.end());
    unacknowledged_.clear();
    replay_ = 0;
    begun_.clear();
  }
  for (auto& queue : queues_) {
    for (Packet& packet : queue) {
      if (!begun_.contains({packet.source, packet.message})) {
        taken.push_back(std::move(packet));
      }
    }
    queue.clear();
  }
  queued_bytes_ = 0;
  return taken;
}

}  // namespace canopy::overlay
