// One neighbour in the tree, linked or expected: its packet flow and the stream
// that presently carries the flow.
#ifndef CANOPY_SERVER_OVERLAY_NEIGHBOR_H_
#define CANOPY_SERVER_OVERLAY_NEIGHBOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "server/overlay/frame.h"
#include "server/overlay/handshake.h"
#include "server/overlay/link.h"
#include "server/overlay/member_table.h"
#include "server/overlay/running_time.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// Loop thread only. Held by shared pointers, because a listener may drop the
// neighbour while the neighbour handles a frame.
class Neighbor final : public StreamListener,
                       public std::enable_shared_from_this<Neighbor> {
 public:
  using Ref = std::shared_ptr<Neighbor>;

  // A listener may disconnect the neighbour during a call; the rest of the
  // frame is then not reported.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Report records and states of members, and packets, in the order of their
    // arrival.
    virtual void OnRecord(const MemberRecord& record, NodeId from) = 0;
    virtual void OnMember(const MemberState& state, NodeId from) = 0;
    virtual void OnPacket(Packet packet, NodeId from) = 0;
    // A frame was handled, or the stream has taken everything that could be
    // sent.
    virtual void OnActivity(const Ref& neighbor) = 0;
    // The stream has ended, or was ended because of a frame that arrived on it.
    virtual void OnLinkEnd(const Ref& neighbor, const StreamEnd& end) = 0;
  };

  // All pointers must outlive this object. `members` has the states to send;
  // `version` is the protocol version that this agent speaks.
  Neighbor(EventLoop* loop, const MemberTable* members, uint32_t version,
           NodeId id, Listener* listener)
      : loop_(loop),
        members_(members),
        version_(version),
        id_(id),
        listener_(listener) {}
  ~Neighbor() override;

  NodeId id() const { return id_; }
  // Returns the peer's incarnation; 0 if it was never linked.
  uint64_t incarnation() const { return incarnation_; }
  bool linked() const { return stream_ != nullptr; }
  ResumePoint resume_point() const { return {incarnation_, link_.received()}; }
  // Returns the downtime announced for a handover; 0 if there is none.
  uint32_t planned_downtime_ms() const { return planned_downtime_ms_; }
  // Returns why the neighbour is not linked; may be empty.
  const std::string& last_error() const { return last_error_; }
  void set_last_error(std::string error) { last_error_ = std::move(error); }

  // Uses the stream of a completed handshake with `incarnation`. If `resumed`,
  // the peer continues the flow and has received packets up to `peer_received`.
  void Connect(uint64_t incarnation, bool resumed, uint64_t peer_received,
               std::shared_ptr<Stream> stream);
  // Ends the stream without a report to the listener. The flow can be resumed.
  void Disconnect();
  // Ends the stream and all timers for good.
  void Close();
  // Returns the stream, which the caller owns from now on.
  std::shared_ptr<Stream> TakeStream() {
    return std::exchange(stream_, nullptr);
  }

  // Sends a packet as soon as the stream allows it, or on a later stream.
  void Enqueue(Packet packet);
  size_t queued_bytes() const { return link_.queued_bytes(); }
  // See Link::TakeUnsent.
  std::vector<Packet> TakeUnsent(bool unacknowledged) {
    return link_.TakeUnsent(unacknowledged);
  }
  // Returns true if no packet waits to be sent or acknowledged.
  bool idle() const { return link_.Idle(); }

  // Sends the state of `member`, which has changed, to this neighbour.
  void SendMember(NodeId member);
  // Sends the record of `member`, which has changed, before any state.
  void SendRecord(NodeId member);
  // Sends queued data as long as the stream takes it; with `ack_now`, even an
  // acknowledgement alone.
  void Flush(bool ack_now);
  // Acknowledges within the acknowledgement delay, in a frame with packets if
  // possible.
  void AckLater();
  // Flushes, then writes this frame if the stream takes it.
  void SendLast(const Frame& frame);
  // Returns true if the stream has taken everything written; otherwise
  // OnActivity follows.
  bool Written() { return stream_ == nullptr || stream_->Writable(); }

  // Ends the stream to a neighbour that is no longer this agent's parent.
  // Returns true if everything was exchanged and the stream was ended in order.
  // Otherwise the caller tries again at the neighbour's next activity.
  bool Retire();
  bool retiring() const { return retiring_; }
  // The neighbour is the parent again, so its stream is kept.
  void StopRetiring() { retiring_ = false; }

  // Calls `expired` when this agent has run for `period_ns` without a link to
  // the neighbour, unless the timer is already running.
  void StartReconnectTimer(int64_t period_ns, std::function<void()> expired);
  // Returns the time until the reconnect timer expires, in nanoseconds; no
  // value if it does not run.
  std::optional<int64_t> TimeToReconnect() const;

  void OnFrame(Bytes data) override;
  void OnWritable() override { Flush(false); }
  void OnEnd(const StreamEnd& end) override;

 private:
  void ScheduleFlush();
  void FillMembers(Frame* frame);
  void FillRecords(Members* members);
  bool HandlePackets(std::vector<Packet> packets);
  void Break(const std::string& why);
  void RunReconnectTimer();
  void StopReconnectTimer();

  EventLoop* const loop_;
  const MemberTable* const members_;
  const uint32_t version_;
  const NodeId id_;
  Listener* const listener_;

  uint64_t incarnation_ = 0;
  Link link_;
  std::shared_ptr<Stream> stream_;   // null: not linked
  std::set<NodeId> unsent_members_;  // whose states must still be sent
  std::set<NodeId> unsent_records_;  // whose records must still be sent
  bool retiring_ = false;
  bool flush_scheduled_ = false;
  uint32_t planned_downtime_ms_ = 0;
  std::string last_error_;
  EventLoop::TimerId ack_timer_ = 0;
  std::optional<RunningTime> unlinked_time_;
  std::function<void()> reconnect_expired_;
  EventLoop::TimerId reconnect_timer_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_NEIGHBOR_H_
