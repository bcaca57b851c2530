// The numbered, acknowledged and replayable packet flow between this agent and
// one neighbour, over any number of successive streams.
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

// Pure state; loop thread. A link lives as long as the two incarnations that it
// connects; Reset starts it over for a new incarnation.
class Link {
 public:
  // Appends a packet to the queue of its priority. Packets are numbered when
  // first sent, so until then small messages can overtake large ones.
  void Enqueue(Packet packet);

  // Adds to `frame` what should be sent next, about kMaxFrame bytes at most:
  // first replayed packets, then queued ones by priority, and always the
  // current acknowledgement. Returns false if there is nothing to send; an
  // acknowledgement alone makes a frame only if AckDue or `ack_now`.
  bool Fill(Frame* frame, bool ack_now);

  // Records that the peer has received all packets up to `number`. Returns
  // false if some of these were never sent.
  bool Acknowledge(uint64_t number);

  enum class Arrival { kNew, kDuplicate, kGap };
  // Records a packet that has arrived. Only a new one may be processed; after a
  // gap the stream must end, because packets arrive in order.
  Arrival Arrived(const Packet& packet);
  // The highest number received, for Hello and Welcome.
  uint64_t received() const { return received_; }
  // True if received packets are not yet acknowledged.
  bool AckOwed() const { return received_ != acknowledged_; }
  // True if so much is unacknowledged that the acknowledgement should be sent
  // by itself.
  bool AckDue() const;

  // Continues the flow on a new stream between the same incarnations. The peer
  // has packets up to `peer_received`; later ones are sent again. Returns false
  // under the condition of Acknowledge.
  bool Resume(uint64_t peer_received);
  // Starts both directions over, because the peer has a new incarnation.
  void Reset();

  // Removes and returns, in order, the packets of messages of which nothing was
  // sent yet. With `unacknowledged`, also the packets that were sent but may
  // not have arrived.
  std::vector<Packet> TakeUnsent(bool unacknowledged);

  // True if no packet waits to be sent or acknowledged.
  bool Idle() const { return queued_bytes_ == 0 && unacknowledged_.empty(); }
  // True if packets wait to be sent, for the first time or again.
  bool Waiting() const {
    return queued_bytes_ != 0 || replay_ < unacknowledged_.size();
  }
  // Bytes waiting for their first transmission, including packet overhead.
  size_t queued_bytes() const { return queued_bytes_; }

 private:
  using MessageKey = std::pair<NodeId, uint64_t>;

  void Send(Packet packet, Frame* frame);

  std::array<std::deque<Packet>, kPriorities> queues_;
  size_t queued_bytes_ = 0;
  uint64_t next_number_ = 1;
  // Sent packets; those from index replay_ on must be sent again.
  std::deque<Packet> unacknowledged_;
  size_t replay_ = 0;
  // Messages of which some, but not all, pieces were sent.
  std::set<MessageKey> begun_;

  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;
  size_t bytes_unacknowledged_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_LINK_H_
