// The numbered, acknowledged, replayable packet flow between this agent and one
// neighbour, over any number of successive streams.
#ifndef CANOPY_SERVER_OVERLAY_LINK_H_
#define CANOPY_SERVER_OVERLAY_LINK_H_

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "server/overlay/frame.h"
#include "server/overlay/translate.h"

namespace canopy::overlay {

// Pure state; loop thread. A link lives as long as the two incarnations that
// it connects; Reset starts it over for a new one.
class Link {
 public:
  // Puts a packet into its priority's queue. Its number is given when it is
  // first sent, so that small messages can overtake large ones until then.
  void Enqueue(Packet packet);

  // Adds what the stream should carry next, at most about kMaxFrame bytes:
  // replays first, then by priority; and the acknowledgement that is due
  // anyway. False when there is nothing to send (an acknowledgement alone
  // justifies a frame only when AckDue or `ack_now`).
  bool Fill(Frame* frame, bool ack_now);

  // The peer has everything up to `number`. False: it claims packets that
  // were never sent.
  bool Acknowledge(uint64_t number);

  enum class Arrival { kNew, kDuplicate, kGap };
  Arrival Arrived(const Packet& packet);
  // Highest number received, for Hello and Welcome.
  uint64_t received() const { return received_; }
  // Something was received and not acknowledged yet.
  bool AckOwed() const { return received_ != acknowledged_; }
  // Enough of it that the acknowledgement should be sent by itself.
  bool AckDue() const;

  // A new stream between the same incarnations: the peer has everything up to
  // `peer_received`; the rest is sent again. False as for Acknowledge.
  bool Resume(uint64_t peer_received);
  // A new incarnation of the peer: both directions start over.
  void Reset();

  // Takes out, in order, the packets of messages of which nothing was sent
  // yet; with `unacknowledged`, also what was sent but may not have arrived.
  std::vector<Packet> TakeUnsent(bool unacknowledged);

  // Nothing waits to be sent or acknowledged by the peer.
  bool Idle() const { return queued_bytes_ == 0 && unacknowledged_.empty(); }
  // Packets wait to be sent, for the first time or again.
  bool Waiting() const {
    return queued_bytes_ != 0 || replay_ < unacknowledged_.size();
  }
  // Waiting to be sent, packet overhead included.
  size_t queued_bytes() const { return queued_bytes_; }

 private:
  using MessageKey = std::pair<NodeId, uint64_t>;

  void Send(Packet packet, Frame* frame);

  std::array<std::deque<Packet>, kPriorities> queues_;
  size_t queued_bytes_ = 0;
  uint64_t next_number_ = 1;
  // Sent and kept; those from replay_ on have to be sent again.
  std::deque<Packet> unacknowledged_;
  size_t replay_ = 0;
  // Messages of which some but not all pieces were sent.
  std::set<MessageKey> begun_;

  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;
  size_t bytes_unacknowledged_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_LINK_H_
