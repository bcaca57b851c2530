#include "client/channel/channel.h"

#include <poll.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "common/describe.h"
#include "common/local/reply.h"
#include "common/status.h"

namespace canopy::client {

using local::FrameType;

namespace {

// Agents identify a resent request by its process and its tag. The process may
// have had other channels, and other programs may have run as the same rank, so
// no two channels may start at similar tags. The first tag is not 0. It is far
// below the highest tags, which are reserved.
uint64_t FirstTag() {
  uint64_t tag = 0;
  if (getrandom(&tag, sizeof(tag), GRND_NONBLOCK) != sizeof(tag)) {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    tag = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
          static_cast<uint64_t>(now.tv_nsec);
  }
  return (tag >> 1) + 1;
}

}  // namespace

Channel::Channel(std::unique_ptr<FrameSocket> socket, ChannelSink* sink,
                 Progress* progress)
    : sink_(sink),
      progress_(progress),
      socket_(std::move(socket)),
      next_tag_(FirstTag()) {
  while (std::optional<Frame> frame = socket_->Next()) Dispatch(*frame);
  const MutexLock lock(mu_);
  WatchLocked();
}

Channel::~Channel() {
  const MutexLock lock(mu_);
  progress_->Unwatch(watch_);
}

void Channel::WatchLocked() {
  watch_ = progress_->Watch(socket_->fd(), [this] { OnReadable(); });
}

Channel::SocketRef Channel::socket() const {
  const MutexLock lock(mu_);
  return socket_;
}

int Channel::Register(Pending pending, uint64_t* tag, SocketRef* socket) {
  const MutexLock lock(mu_);
  if (ended_) return end_status_;
  *tag = next_tag_++;
  *socket = socket_;
  const bool async = pending.waiter == nullptr;
  pending_.emplace(*tag, std::move(pending));
  if (!async) return kSuccess;
  ++async_pending_;
  if (!reading_) progress_->Arm(watch_, true);
  return kSuccess;
}

int Channel::SendOrForget(FrameSocket& socket, FrameType type, uint64_t tag,
                          std::string_view payload) {
  const int rc = socket.Send(type, tag, payload);
  // The reading thread will detect that the agent is gone, and handle it.
  if (rc == kSuccess || rc == kErrLostConnection) return kSuccess;
  const MutexLock lock(mu_);
  const auto it = pending_.find(tag);
  // The end of the connection may already have completed the request.
  if (it == pending_.end()) return kSuccess;
  if (it->second.waiter == nullptr) --async_pending_;
  pending_.erase(it);
  return rc;
}

Reply Channel::Call(FrameType type, std::string_view payload) {
  Waiter waiter;
  Pending pending;
  pending.waiter = &waiter;
  pending.type = type;
  pending.payload = payload;
  uint64_t tag = 0;
  SocketRef socket;
  int rc = Register(std::move(pending), &tag, &socket);
  if (rc == kSuccess) rc = SendOrForget(*socket, type, tag, payload);
  if (rc != kSuccess) return Reply{rc, {}};
  socket.reset();
  const MutexLock lock(mu_);
  WaitFor(&waiter);
  return std::move(waiter.reply);
}

int Channel::CallAsync(FrameType type, std::string_view payload, Done done) {
  Pending pending;
  pending.done = std::move(done);
  pending.type = type;
  pending.copy = std::make_unique<std::string>(payload);
  pending.payload = *pending.copy;
  uint64_t tag = 0;
  SocketRef socket;
  const int rc = Register(std::move(pending), &tag, &socket);
  return rc == kSuccess ? SendOrForget(*socket, type, tag, payload) : rc;
}

int Channel::Post(FrameType type, std::string_view payload) {
  if (lost()) return kErrLostConnection;
  const int rc = socket()->Send(type, 0, payload);
  // Without a pending request, no reader would detect that the agent is gone.
  if (rc != kErrLostConnection) return rc;
  const MutexLock lock(mu_);
  // A channel that has ended may be destroyed before a task runs.
  if (ended_) return rc;
  progress_->Post([this] {
    if (ReadLast()) OnReadable();
  });
  return rc;
}

void Channel::WaitFor(Waiter* waiter) {
  while (!waiter->done) {
    if (!reading_) {
      Lead(waiter);
      return;
    }
    followers_.push_back(waiter);
    while (!waiter->done && !waiter->promoted) waiter->wake.Wait(mu_);
    waiter->promoted = false;
    followers_.erase(std::find(followers_.begin(), followers_.end(), waiter));
  }
}

void Channel::Lead(Waiter* waiter) {
  reading_ = true;
  progress_->Arm(watch_, false);
  while (!waiter->done) {
    bool open = !down_;
    if (open) {
      mu_.Unlock();
      open = ReadAndDispatch(/*wait=*/true);
      mu_.Lock();
    }
    if (!open) ReattachOrEnd();
  }
  reading_ = false;
  PassOn();
}

bool Channel::ReadLast() {
  const MutexLock lock(mu_);
  if (ended_ || down_) return true;
  if (reading_) return false;
  reading_ = true;
  progress_->Arm(watch_, false);
  mu_.Unlock();
  bool open = true;
  while (open && PeerIsGone()) open = ReadAndDispatch(/*wait=*/false);
  mu_.Lock();
  down_ = !open;
  reading_ = false;
  PassOn();
  return true;
}

void Channel::ReattachOrEnd() {
  if (ended_) return;
  down_ = true;
  mu_.Unlock();
  SocketRef next = sink_->Reattach();
  mu_.Lock();
  if (ended_) return;
  if (next == nullptr) {
    EndLocked(kErrLostConnection);
    return sink_->OnLost();
  }
  progress_->Unwatch(watch_);
  socket_ = std::move(next);
  down_ = false;
  WatchLocked();
  std::vector<uint64_t> tags;
  for (const auto& [tag, pending] : pending_) tags.push_back(tag);
  std::sort(tags.begin(), tags.end());
  for (const uint64_t tag : tags) {
    const Pending& pending = pending_.at(tag);
    if (socket_->Send(pending.type, tag, pending.payload) != kSuccess) break;
  }
  mu_.Unlock();
  while (std::optional<Frame> frame = read_socket().Next()) Dispatch(*frame);
  mu_.Lock();
}

void Channel::PassOn() {
  if (ended_) return;
  for (Waiter* follower : followers_) {
    if (follower->done) continue;
    follower->promoted = true;
    follower->wake.NotifyOne();
    return;
  }
  progress_->Arm(watch_, expect_events_ || async_pending_ > 0);
}

void Channel::OnReadable() {
  const MutexLock lock(mu_);
  if (reading_ || ended_) return;
  reading_ = true;
  bool open = !down_;
  if (open) {
    mu_.Unlock();
    open = ReadAndDispatch(/*wait=*/false);
    mu_.Lock();
  }
  if (!open) ReattachOrEnd();
  reading_ = false;
  PassOn();
}

bool Channel::ReadAndDispatch(bool wait) {
  switch (read_socket().Read(wait)) {
    case FrameSocket::ReadState::kNothing:
      return true;
    case FrameSocket::ReadState::kClosed:
      return false;
    case FrameSocket::ReadState::kData:
      break;
  }
  while (std::optional<Frame> frame = read_socket().Next()) Dispatch(*frame);
  return !read_socket().broken();
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
      sink_->OnSegment(frame.payload, read_socket().TakeFd());
      return;
    case FrameType::kHandover:
      sink_->OnHandover(frame.payload);
      return;
    default:
      // Unknown frames of a later version are ignored.
      return;
  }
}

void Channel::DispatchReply(const Frame& frame) {
  local::Reply answer;
  const bool ok = wire::Decode(frame.payload, &answer);
  Reply reply{ok ? answer.status : kErrUnpackFailure,
              std::string(ok ? answer.payload : std::string_view())};
  const MutexLock lock(mu_);
  const auto it = pending_.find(frame.tag);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  mu_.Unlock();
  // The caller is still waiting, so the request's payload is valid.
  sink_->OnAnswered(pending.type, pending.payload, reply.status);
  mu_.Lock();
  Complete(std::move(pending), std::move(reply));
}

void Channel::Complete(Pending pending, Reply reply) {
  if (pending.waiter != nullptr) {
    pending.waiter->reply = std::move(reply);
    pending.waiter->done = true;
    pending.waiter->wake.NotifyOne();
    return;
  }
  --async_pending_;
  progress_->Post(
      [done = std::move(pending.done), reply = std::move(reply)]() mutable {
        done(std::move(reply));
      });
}

void Channel::EndLocked(int status) {
  if (ended_) return;
  ended_ = true;
  end_status_ = status;
  progress_->Unwatch(watch_);
  auto pending = std::move(pending_);
  pending_.clear();
  for (auto& [tag, entry] : pending) {
    Complete(std::move(entry), Reply{status, {}});
  }
}

void Channel::ExpectEvents(bool on) {
  const MutexLock lock(mu_);
  expect_events_ = on;
  if (!ended_ && !reading_) progress_->Arm(watch_, on || async_pending_ > 0);
}

bool Channel::PeerIsGone() const {
  SocketRef socket;
  {
    const MutexLock lock(mu_);
    if (ended_ || down_) return true;
    socket = socket_;
  }
  pollfd entry = {socket->fd(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

void Channel::WaitForEnd(int timeout_ms) {
  const SocketRef current = socket();
  pollfd entry = {current->fd(), POLLRDHUP, 0};
  poll(&entry, 1, timeout_ms);
}

void Channel::Close(int status) {
  {
    const MutexLock lock(mu_);
    EndLocked(status);
  }
  // A reader that blocks in the kernel then returns, with the end of the
  // stream.
  socket()->Shutdown();
}

bool Channel::lost() const {
  const MutexLock lock(mu_);
  return ended_;
}

}  // namespace canopy::client
