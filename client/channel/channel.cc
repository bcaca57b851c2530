#include "client/channel/channel.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/wire.h"

namespace canopy::client {

using local::FrameType;

Channel::Channel(std::unique_ptr<FrameSocket> socket, ChannelSink* sink,
                 Progress* progress)
    : socket_(std::move(socket)), sink_(sink), progress_(progress) {
  while (std::optional<Frame> frame = socket_->Next()) Dispatch(*frame);
  progress_->Watch(socket_->fd(), [this] { OnReadable(); });
}

Channel::~Channel() { progress_->Unwatch(); }

int Channel::Register(Pending pending, uint64_t* tag) {
  std::lock_guard<std::mutex> lock(mu_);
  if (ended_) return kErrLostConnection;
  *tag = next_tag_++;
  const bool async = pending.waiter == nullptr;
  pending_.emplace(*tag, std::move(pending));
  if (!async) return kSuccess;
  ++async_pending_;
  if (!reading_) progress_->Arm(true);
  return kSuccess;
}

int Channel::SendOrForget(FrameType type, uint64_t tag,
                          std::string_view payload) {
  const int rc = socket_->Send(type, tag, payload);
  if (rc == kSuccess) return rc;
  std::lock_guard<std::mutex> lock(mu_);
  const auto it = pending_.find(tag);
  // The end of the connection may have completed it already.
  if (it == pending_.end()) return kSuccess;
  if (it->second.waiter == nullptr) --async_pending_;
  pending_.erase(it);
  return rc;
}

Reply Channel::Call(FrameType type, std::string_view payload) {
  Waiter waiter;
  Pending pending;
  pending.waiter = &waiter;
  uint64_t tag = 0;
  int rc = Register(std::move(pending), &tag);
  if (rc == kSuccess) rc = SendOrForget(type, tag, payload);
  if (rc != kSuccess) return Reply{rc, {}};
  Lock lock(mu_);
  WaitFor(lock, &waiter);
  return std::move(waiter.reply);
}

int Channel::CallAsync(FrameType type, std::string_view payload, Done done) {
  Pending pending;
  pending.done = std::move(done);
  uint64_t tag = 0;
  const int rc = Register(std::move(pending), &tag);
  return rc == kSuccess ? SendOrForget(type, tag, payload) : rc;
}

int Channel::Post(FrameType type, std::string_view payload) {
  return lost() ? kErrLostConnection : socket_->Send(type, 0, payload);
}

void Channel::WaitFor(Lock& lock, Waiter* waiter) {
  while (!waiter->done) {
    if (!reading_) {
      Lead(lock, waiter);
      return;
    }
    followers_.push_back(waiter);
    waiter->wake.wait(lock, [&] { return waiter->done || waiter->promoted; });
    waiter->promoted = false;
    followers_.erase(std::find(followers_.begin(), followers_.end(), waiter));
  }
}

void Channel::Lead(Lock& lock, Waiter* waiter) {
  reading_ = true;
  progress_->Arm(false);
  while (!waiter->done) {
    lock.unlock();
    const bool open = ReadAndDispatch(/*wait=*/true);
    lock.lock();
    if (!open) EndLocked(/*by_peer=*/true);
  }
  reading_ = false;
  PassOn();
}

void Channel::PassOn() {
  if (ended_) return;
  for (Waiter* follower : followers_) {
    if (follower->done) continue;
    follower->promoted = true;
    follower->wake.notify_one();
    return;
  }
  progress_->Arm(expect_events_ || async_pending_ > 0);
}

void Channel::OnReadable() {
  Lock lock(mu_);
  if (reading_ || ended_) return;
  reading_ = true;
  lock.unlock();
  const bool open = ReadAndDispatch(/*wait=*/false);
  lock.lock();
  reading_ = false;
  if (!open) EndLocked(/*by_peer=*/true);
  PassOn();
}

bool Channel::ReadAndDispatch(bool wait) {
  switch (socket_->Read(wait)) {
    case FrameSocket::ReadState::kNothing:
      return true;
    case FrameSocket::ReadState::kClosed:
      return false;
    case FrameSocket::ReadState::kData:
      break;
  }
  while (std::optional<Frame> frame = socket_->Next()) Dispatch(*frame);
  return !socket_->broken();
}

void Channel::Dispatch(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kReply:
      DispatchReply(frame);
      return;
    case FrameType::kEvent:
      sink_->OnEvent(frame.payload);
      return;
    case FrameType::kSegment:
      sink_->OnSegment(frame.payload, socket_->TakeFd());
      return;
    default:
      // Frames of a later version that this one does not know.
      return;
  }
}

void Channel::DispatchReply(const Frame& frame) {
  WireReader in(frame.payload);
  Reply reply;
  const int64_t status = in.Int();
  const std::string_view payload = in.String();
  if (in.ok()) {
    reply.status = static_cast<int>(status);
    reply.payload = std::string(payload);
  } else {
    reply.status = kErrUnpackFailure;
  }
  std::lock_guard<std::mutex> lock(mu_);
  const auto it = pending_.find(frame.tag);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  Complete(std::move(pending), std::move(reply));
}

void Channel::Complete(Pending pending, Reply reply) {
  if (pending.waiter != nullptr) {
    pending.waiter->reply = std::move(reply);
    pending.waiter->done = true;
    pending.waiter->wake.notify_one();
    return;
  }
  --async_pending_;
  progress_->Post(
      [done = std::move(pending.done), reply = std::move(reply)]() mutable {
        done(std::move(reply));
      });
}

void Channel::EndLocked(bool by_peer) {
  if (ended_) return;
  ended_ = true;
  progress_->Unwatch();
  auto pending = std::move(pending_);
  pending_.clear();
  for (auto& [tag, entry] : pending) {
    Complete(std::move(entry), Reply{kErrLostConnection, {}});
  }
  if (by_peer) sink_->OnLost();
}

void Channel::ExpectEvents(bool on) {
  std::lock_guard<std::mutex> lock(mu_);
  expect_events_ = on;
  if (!ended_ && !reading_) progress_->Arm(on || async_pending_ > 0);
}

bool Channel::PeerIsGone() const {
  if (lost()) return true;
  pollfd entry = {socket_->fd(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

void Channel::WaitForEnd(int timeout_ms) {
  pollfd entry = {socket_->fd(), POLLRDHUP, 0};
  poll(&entry, 1, timeout_ms);
}

void Channel::Close() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    EndLocked(/*by_peer=*/false);
  }
  // A reader that waits in the kernel comes back with the end of the stream.
  socket_->Shutdown();
}

bool Channel::lost() const {
  std::lock_guard<std::mutex> lock(mu_);
  return ended_;
}

}  // namespace canopy::client
