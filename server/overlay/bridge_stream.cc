#include "server/overlay/bridge_stream.h"

#include <utility>

namespace canopy::overlay {
namespace {

// Maximum bytes of frames that wait for a listener; above it, reading pauses.
constexpr size_t kMaxInbox = size_t{4} << 20;
// Maximum number of frames that wait. A message that the peer sends now is
// handled only after all frames that were read before it, and a frame may
// contain many messages.
constexpr size_t kMaxFrames = 2 * BridgeStream::kFramesPerRound;

}  // namespace

// ---------------------------------------------------- methods for the user ---

void BridgeStream::Attach(StreamListener* listener) {
  listener_ = listener;
  if (!inbox_.empty() || ended_.has_value()) Schedule();
}

void BridgeStream::Detach() {
  listener_ = nullptr;
  detached_ = true;
  inbox_.clear();
  inbox_bytes_ = 0;
  if (std::exchange(read_paused_, false) && !closing_) call_->Read();
}

bool BridgeStream::Writable() {
  if (MayWrite()) return true;
  want_writable_ = true;
  return false;
}

void BridgeStream::Write(const Rope& frame) {
  if (!MayWrite()) return;
  write_in_flight_ = true;
  call_->Write(frame);
}

void BridgeStream::SetProved() {
  if (call_ != nullptr) call_->SetProved();
}

void BridgeStream::Close(const StreamEnd& end) {
  Detach();
  if (call_ == nullptr || finished_) return;
  closing_ = true;
  close_with_ = end;
  if (end.code == kEndCancelled) call_->Cancel();
  FinishWhenIdle();
}

void BridgeStream::CloseInOrder() {
  Detach();
  if (closing_) return;
  half_close_ = true;
  if (!write_in_flight_) call_->HalfClose();
}

// ---------------------------------------------------- methods for the call ---

void BridgeStream::ReadDone(std::optional<Bytes> frame) {
  if (!frame.has_value()) {
    closing_ = true;
    return FinishWhenIdle();
  }
  if (!detached_) {
    inbox_bytes_ += frame->size();
    inbox_.push_back(std::move(*frame));
    Schedule();
  }
  read_paused_ = MustPause();
  if (!closing_ && !read_paused_) call_->Read();
}

void BridgeStream::WriteDone(bool ok) {
  write_in_flight_ = false;
  write_failed_ = !ok;
  if (closing_) return FinishWhenIdle();
  // If the write failed, the call has ended. Frames that arrived earlier can
  // still be read; gRPC reports the status afterwards.
  if (write_failed_) return;
  if (half_close_) return call_->HalfClose();
  if (want_writable_) Schedule();
}

void BridgeStream::Broken() {
  closing_ = true;
  FinishWhenIdle();
}

void BridgeStream::Done(StreamEnd end) {
  call_ = nullptr;
  closing_ = finished_ = true;
  ended_ = std::move(end);
  Schedule();
}

void BridgeStream::FinishWhenIdle() {
  if (write_in_flight_ || finished_) return;
  finished_ = true;
  call_->Finish(close_with_);
}

// -------------------------------------------------------------- delivering ---

// Frames that arrive in one round of the loop are delivered together at its
// end.
void BridgeStream::Schedule() {
  if (listener_ == nullptr || std::exchange(scheduled_, true)) return;
  loop_->Defer([self = shared_from_this()] { self->Deliver(); });
}

bool BridgeStream::MustPause() const {
  return inbox_bytes_ > kMaxInbox || inbox_.size() >= kMaxFrames;
}

void BridgeStream::Deliver() {
  scheduled_ = false;
  DeliverFrames();
  if (want_writable_ && MayWrite()) {
    want_writable_ = false;
    if (listener_ != nullptr) listener_->OnWritable();
  }
  if (!inbox_.empty()) return Schedule();
  if (ended_.has_value() && listener_ != nullptr) {
    const StreamEnd end = *std::exchange(ended_, std::nullopt);
    std::exchange(listener_, nullptr)->OnEnd(end);
  }
}

// Delivers at most kFramesPerRound frames once in each round of the loop, and
// then resumes a paused read.
void BridgeStream::DeliverFrames() {
  if (std::exchange(delivered_round_, loop_->round()) == loop_->round()) return;
  for (size_t left = kFramesPerRound; left > 0 && !inbox_.empty(); --left) {
    Bytes frame = std::move(inbox_.front());
    inbox_.pop_front();
    inbox_bytes_ -= frame.size();
    if (listener_ != nullptr) listener_->OnFrame(std::move(frame));
  }
  if (!read_paused_ || MustPause()) return;
  read_paused_ = false;
  if (!closing_) call_->Read();
}

}  // namespace canopy::overlay
