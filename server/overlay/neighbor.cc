#include "server/overlay/neighbor.h"

#include <algorithm>
#include <utility>

#include "common/time_units.h"
#include "server/overlay/config.h"

namespace canopy::overlay {
namespace {

// The longest time before received packets are acknowledged. A frame with
// packets that is sent meanwhile contains the acknowledgement.
constexpr int64_t kAckDelayNs = 25 * kNsPerMs;
constexpr size_t kMembersPerFrame = 1024;
// Upper limit for the downtime that a neighbour may announce.
constexpr uint32_t kMaxPlannedDowntimeMs = 600000;

bool IsHandshake(const Frame& frame) {
  return frame.hello.has_value() || frame.welcome.has_value() ||
         frame.proof.has_value();
}

}  // namespace

Neighbor::~Neighbor() { Close(); }

void Neighbor::Close() {
  StopReconnectTimer();
  if (ack_timer_ != 0) loop_->CancelTimer(std::exchange(ack_timer_, 0));
  Disconnect();
}

void Neighbor::Connect(uint64_t incarnation, bool resumed,
                       uint64_t peer_received, std::shared_ptr<Stream> stream) {
  Disconnect();
  const bool same = incarnation_ == incarnation;
  if (!same || !resumed || !link_.Resume(peer_received)) {
    std::vector<Packet> packets = link_.TakeUnsent(same);
    link_.Reset();
    for (Packet& packet : packets) link_.Enqueue(std::move(packet));
  }
  incarnation_ = incarnation;
  stream_ = std::move(stream);
  retiring_ = false;
  planned_downtime_ms_ = 0;
  last_error_.clear();
  StopReconnectTimer();
  for (NodeId member = 0; member < members_->size(); ++member) {
    if (members_->Record(member) != nullptr) unsent_records_.insert(member);
    if (member != id_ && members_->Known(member)) {
      unsent_members_.insert(member);
    }
  }
  stream_->Attach(this);
  ScheduleFlush();
}

void Neighbor::Disconnect() {
  if (stream_ != nullptr) TakeStream()->Close({kEndCancelled, ""});
}

// ---------------------------------------------------------------- sending ---

void Neighbor::Enqueue(Packet packet) {
  link_.Enqueue(std::move(packet));
  ScheduleFlush();
}

void Neighbor::SendMember(NodeId member) {
  if (stream_ == nullptr) return;
  unsent_members_.insert(member);
  ScheduleFlush();
}

void Neighbor::SendRecord(NodeId member) {
  if (stream_ == nullptr) return;
  unsent_records_.insert(member);
  ScheduleFlush();
}

void Neighbor::ScheduleFlush() {
  if (stream_ == nullptr) return;
  if (std::exchange(flush_scheduled_, true)) return;
  loop_->Defer([weak = weak_from_this()] {
    const Ref self = weak.lock();
    if (self == nullptr) return;
    self->flush_scheduled_ = false;
    self->Flush(false);
  });
}

void Neighbor::FillMembers(Frame* frame) {
  if (unsent_members_.empty() && unsent_records_.empty()) return;
  frame->members.emplace();
  FillRecords(&*frame->members);
  size_t bytes = 0;
  while (unsent_records_.empty() && !unsent_members_.empty() &&
         frame->members->changes.size() < kMembersPerFrame &&
         bytes < kMaxFrame) {
    const auto first = unsent_members_.begin();
    frame->members->changes.push_back(members_->State(*first));
    bytes += frame->members->changes.back().description.size();
    unsent_members_.erase(first);
  }
}

// The peer ignores the state of a member that it does not know, so all records
// precede all states.
void Neighbor::FillRecords(Members* members) {
  size_t bytes = 0;
  while (!unsent_records_.empty() && bytes < kMaxFrame) {
    const auto first = unsent_records_.begin();
    const MemberRecord& record = *members_->Record(*first);
    bytes += record.name.size() + record.description.size() +
             record.reason.size() + sizeof(record);
    members->records.push_back(record);
    unsent_records_.erase(first);
  }
}

void Neighbor::Flush(bool ack_now) {
  const Ref self = shared_from_this();
  while (stream_ != nullptr &&
         (!unsent_records_.empty() || !unsent_members_.empty() ||
          link_.Waiting() || link_.AckDue() || (ack_now && link_.AckOwed()))) {
    if (!stream_->Writable()) return;
    Frame frame;
    FillMembers(&frame);
    // Packets may come from members that the peer does not know yet.
    if (unsent_records_.empty() && unsent_members_.empty()) {
      link_.Fill(&frame, ack_now);
    }
    stream_->Write(EncodeFrame(frame));
  }
  listener_->OnActivity(self);
}

void Neighbor::AckLater() {
  if (ack_timer_ != 0 || !link_.AckOwed()) return;
  ack_timer_ = loop_->AddTimer(kAckDelayNs, [this] {
    const Ref self = shared_from_this();
    ack_timer_ = 0;
    Flush(true);
    AckLater();
  });
}

void Neighbor::SendLast(const Frame& frame) {
  if (stream_ == nullptr) return;
  Flush(true);
  if (stream_ != nullptr && stream_->Writable()) {
    stream_->Write(EncodeFrame(frame));
  }
}

bool Neighbor::Retire() {
  if (stream_ == nullptr) return false;
  retiring_ = true;
  if (!link_.Idle() || !unsent_members_.empty() || !unsent_records_.empty()) {
    return false;
  }
  if (link_.AckOwed()) {
    if (!stream_->Writable()) return false;
    Frame last;
    link_.Fill(&last, true);
    stream_->Write(EncodeFrame(last));
  }
  TakeStream()->CloseInOrder();
  return true;
}

// -------------------------------------------------------------- receiving ---

void Neighbor::OnFrame(Bytes data) {
  const Ref self = shared_from_this();
  if (stream_ == nullptr) return;
  auto frame = DecodeFrame(data);
  if (!frame.ok() || IsHandshake(*frame)) {
    return Break("it sent a malformed frame");
  }
  if (frame->received != 0 && !link_.Acknowledge(frame->received)) {
    return Break("it acknowledged a packet that was never sent");
  }
  if (frame->planned_downtime_ms != 0) {
    planned_downtime_ms_ =
        std::min(frame->planned_downtime_ms, kMaxPlannedDowntimeMs);
  }
  if (frame->members.has_value()) {
    for (const MemberRecord& record : frame->members->records) {
      listener_->OnRecord(record, id_);
      if (stream_ == nullptr) return;
    }
    for (const MemberState& state : frame->members->changes) {
      listener_->OnMember(state, id_);
      if (stream_ == nullptr) return;
    }
  }
  if (!HandlePackets(std::move(frame->packets))) return;
  if (link_.AckDue() || retiring_) ScheduleFlush();
  AckLater();
  listener_->OnActivity(self);
}

bool Neighbor::HandlePackets(std::vector<Packet> packets) {
  for (Packet& packet : packets) {
    switch (link_.Arrived(packet)) {
      case Link::Arrival::kDuplicate:
        continue;
      case Link::Arrival::kGap:
        Break("it skipped a packet");
        return false;
      case Link::Arrival::kNew:
        listener_->OnPacket(std::move(packet), id_);
    }
  }
  return true;
}

void Neighbor::OnEnd(const StreamEnd& end) {
  const Ref self = shared_from_this();
  stream_ = nullptr;
  last_error_ = end.ok() ? "it ended the connection" : end.message;
  listener_->OnLinkEnd(self, end);
}

void Neighbor::Break(const std::string& why) {
  if (stream_ == nullptr) return;
  const StreamEnd end{kEndUnavailable, why};
  stream_->Close(end);
  OnEnd(end);
}

// ------------------------------------------------------------- time limits ---

void Neighbor::StartReconnectTimer(int64_t period_ns,
                                   std::function<void()> expired) {
  if (unlinked_time_.has_value()) return;
  unlinked_time_.emplace(period_ns, EventLoop::Now());
  reconnect_expired_ = std::move(expired);
  RunReconnectTimer();
}

std::optional<int64_t> Neighbor::TimeToReconnect() const {
  if (!unlinked_time_) return std::nullopt;
  return unlinked_time_->Left(EventLoop::Now());
}

void Neighbor::RunReconnectTimer() {
  reconnect_timer_ = loop_->AddTimer(unlinked_time_->step(), [this] {
    if (!unlinked_time_->EndStep(EventLoop::Now())) return RunReconnectTimer();
    reconnect_timer_ = 0;
    unlinked_time_.reset();
    std::exchange(reconnect_expired_, nullptr)();
  });
}

void Neighbor::StopReconnectTimer() {
  if (reconnect_timer_ != 0) {
    loop_->CancelTimer(std::exchange(reconnect_timer_, 0));
  }
  unlinked_time_.reset();
  reconnect_expired_ = nullptr;
}

}  // namespace canopy::overlay
