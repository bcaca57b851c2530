#include "server/overlay/bridge_stream.h"

#include <utility>

namespace canopy::overlay {
namespace {

// Frames that arrived and wait for the loop thread; above it, reading stops.
constexpr size_t kMaxInbox = size_t{4} << 20;

}  // namespace

// ------------------------------------------------------------ loop thread ---

void BridgeStream::Attach(StreamListener* listener) {
  listener_ = listener;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!inbox_.empty() || ended_.has_value()) Schedule();
}

void BridgeStream::Detach() {
  listener_ = nullptr;
  deaf_ = true;
}

bool BridgeStream::Writable() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!closing_ && !write_in_flight_) return true;
  want_writable_ = true;
  return false;
}

void BridgeStream::Write(const Rope& frame) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_ || write_in_flight_) return;
    write_in_flight_ = true;
    ++starts_;
  }
  call_->Write(frame);
  StartDone();
}

void BridgeStream::Close(const StreamEnd& end) {
  Detach();
  bool cancel = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (call_ == nullptr || finished_) return;
    closing_ = true;
    close_with_ = end;
    cancel = end.code == kEndCancelled;
    ++starts_;
  }
  if (cancel) call_->Cancel();
  StartDone();
}

void BridgeStream::CloseInOrder() {
  Detach();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) return;
    half_close_ = true;
    if (write_in_flight_) return;
    ++starts_;
  }
  call_->HalfClose();
  StartDone();
}

void BridgeStream::Deliver() {
  std::vector<Bytes> frames;
  bool writable = false;
  bool resume = false;
  std::optional<StreamEnd> end;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    scheduled_ = false;
    if (listener_ == nullptr && !deaf_) return;
    frames.swap(inbox_);
    inbox_bytes_ = 0;
    resume = std::exchange(read_paused_, false) && !closing_;
    if (resume) ++starts_;
    writable = want_writable_ && !write_in_flight_ && !closing_;
    if (writable) want_writable_ = false;
    end = std::exchange(ended_, std::nullopt);
  }
  if (resume) {
    call_->Read();
    StartDone();
  }
  for (Bytes& frame : frames) {
    if (listener_ != nullptr) listener_->OnFrame(std::move(frame));
  }
  if (writable && listener_ != nullptr) listener_->OnWritable();
  if (end.has_value() && listener_ != nullptr) {
    std::exchange(listener_, nullptr)->OnEnd(*end);
  }
}

// ------------------------------------------------------ the call's thread ---

void BridgeStream::ReadDone(std::optional<Bytes> frame) {
  bool again = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (frame.has_value()) {
      inbox_bytes_ += frame->size();
      inbox_.push_back(std::move(*frame));
      Schedule();
      read_paused_ = inbox_bytes_ > kMaxInbox;
      again = !closing_ && !read_paused_;
    } else {
      closing_ = true;
    }
    ++starts_;
  }
  if (again) call_->Read();
  StartDone();
}

void BridgeStream::WriteDone(bool ok) {
  bool half_close = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    write_in_flight_ = false;
    if (!ok) closing_ = true;
    half_close = half_close_ && !closing_;
    if (want_writable_ && !closing_) Schedule();
    ++starts_;
  }
  if (half_close) call_->HalfClose();
  StartDone();
}

void BridgeStream::Broken() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    ++starts_;
  }
  StartDone();
}

void BridgeStream::Done(StreamEnd end) {
  std::lock_guard<std::mutex> lock(mutex_);
  call_ = nullptr;
  closing_ = finished_ = true;
  ended_ = std::move(end);
  Schedule();
}

// ------------------------------------------------------------------- both ---

// Under the lock.
void BridgeStream::Schedule() {
  if (std::exchange(scheduled_, true)) return;
  loop_->Post([self = shared_from_this()] { self->Deliver(); });
}

// What was begun under `++starts_` has been handed to the call. The call is
// finished once nothing is being handed over any more.
void BridgeStream::StartDone() {
  StreamEnd end;
  Call* call = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --starts_;
    if (!closing_ || write_in_flight_ || starts_ > 0 || finished_) return;
    finished_ = true;
    end = close_with_;
    call = call_;
  }
  call->Finish(end);
}

}  // namespace canopy::overlay
