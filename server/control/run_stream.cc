#include "server/control/run_stream.h"

#include <utility>

#include "server/rpc/status.h"

namespace canopy::control {

RunStream::RunStream(uint64_t id, EventLoop* loop, LauncherListener* owner)
    : id_(id), loop_(loop), owner_(owner) {}

void RunStream::Begin() {
  const MutexLock lock(mutex_);
  if (!finished_) StartRead(&incoming_);
}

void RunStream::Send(v1::RunEvent event) {
  const MutexLock lock(mutex_);
  outgoing_.push_back(std::move(event));
  PumpLocked();
}

void RunStream::FinishWhenWritten() {
  const MutexLock lock(mutex_);
  finish_ = true;
  PumpLocked();
}

void RunStream::PumpLocked() {
  if (writing_ || finished_) return;
  if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
    return;
  }
  if (!finish_) return;
  finished_ = true;
  Finish(rpc::ToGrpc(end_));
}

void RunStream::OnReadDone(bool ok) {
  if (!ok) return OnReadEnd();
  loop_->Post([owner = owner_, id = id_,
               request = std::make_shared<v1::RunRequest>(std::move(
                   incoming_))] { owner->OnRequest(id, std::move(*request)); });
  incoming_.Clear();
  StartRead(&incoming_);
}

void RunStream::OnReadEnd() {
  const MutexLock lock(mutex_);
  if (finish_) return;
  end_ = absl::InvalidArgumentError("a request could not be read");
  finish_ = true;
  PumpLocked();
}

void RunStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  outgoing_.pop_front();
  if (!ok) {
    outgoing_.clear();
    finish_ = true;
  }
  PumpLocked();
}

void RunStream::OnCancel() {
  const MutexLock lock(mutex_);
  finish_ = true;
  while (outgoing_.size() > (writing_ ? 1u : 0u)) outgoing_.pop_back();
  PumpLocked();
}

void RunStream::OnDone() {
  // The owner calls this stream only on the loop thread. Deleting the stream
  // there, after OnGone, ensures that no call follows.
  loop_->Post([this] {
    owner_->OnGone(id_);
    delete this;
  });
}

}  // namespace canopy::control
