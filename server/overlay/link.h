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

// Pure state; loop thread only. A link lives as long as the two incarnations
// that it connects; Reset starts it over for a new incarnation.
class Link {
 public:
  // Appends a packet to the queue of its priority. A packet gets its number
  // when it is first sent, so small messages can overtake large ones until
  // then.
  void Enqueue(Packet packet);

  // Adds to `frame` the packets to send next, about kMaxFrame bytes and
  // kMaxPackets packets at most: first replayed packets, then queued packets by
  // priority. Returns false if there is nothing to send; otherwise adds the
  // current acknowledgement as well. An acknowledgement alone is sent only if
  // AckDue returns true or, with `ack_now`, if AckOwed does.
  bool Fill(Frame* frame, bool ack_now);

  // Records that the peer has received all packets up to `number`. Returns
  // false if this agent has not sent that many packets.
  bool Acknowledge(uint64_t number);

  enum class Arrival { kNew, kDuplicate, kGap };
  // Records the arrival of a packet. Only a new packet may be processed. After
  // a gap the stream must end, because packets arrive in order.
  Arrival Arrived(const Packet& packet);
  // Returns the highest number received, for Hello and Welcome.
  uint64_t received() const { return received_; }
  // Returns true if received packets are not yet acknowledged.
  bool AckOwed() const { return received_ != acknowledged_; }
  // Returns true if the number or the size of the unacknowledged packets
  // requires that the acknowledgement is sent by itself.
  bool AckDue() const;

  // Continues the flow on a new stream between the same incarnations. The peer
  // has received packets up to `peer_received`; later packets are sent again.
  // Returns false if this agent has not sent that many packets.
  bool Resume(uint64_t peer_received);
  // Starts both directions over, because the peer has a new incarnation.
  void Reset();

  // Removes and returns, in order, the packets of every message of which no
  // packet has been sent. With `unacknowledged`, also the packets that were
  // sent but may not have arrived.
  std::vector<Packet> TakeUnsent(bool unacknowledged);

  // Returns true if no packet waits to be sent or acknowledged.
  bool Idle() const { return queued_bytes_ == 0 && unacknowledged_.empty(); }
  // Returns true if packets wait to be sent, for the first time or again.
  bool Waiting() const {
    return queued_bytes_ != 0 || replay_ < unacknowledged_.size();
  }
  // Returns the bytes that wait for their first transmission, including the
  // overhead of packets.
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
  // The messages of which some packets, but not all, have been sent.
  std::set<MessageKey> begun_;

  uint64_t received_ = 0;
  uint64_t acknowledged_ = 0;
  size_t bytes_unacknowledged_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_LINK_H_
