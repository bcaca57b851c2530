#include "server/shim/channel.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::process {
namespace {

constexpr size_t kCapacity = 128u << 10;
constexpr size_t kReadAhead = 64u << 10;
// The number of reads in one round is limited, so that other descriptors are
// also served.
constexpr int kReadsPerRound = 4;

}  // namespace

FrameChannel::FrameChannel(EventLoop* loop, UniqueFd socket, OnFrame on_frame,
                           OnClosed on_closed)
    : loop_(loop),
      socket_(std::move(socket)),
      on_frame_(std::make_shared<const OnFrame>(std::move(on_frame))),
      on_closed_(std::move(on_closed)),
      in_(kCapacity) {
  const int flags = fcntl(socket_.get(), F_GETFL);
  fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
  loop_->Watch(socket_.get(), EPOLLIN,
               [this](uint32_t events) { OnEvents(events); });
}

FrameChannel::~FrameChannel() {
  *alive_ = false;
  if (socket_) loop_->Unwatch(socket_.get());
}

void FrameChannel::Send(FrameType type, std::string_view head, Bytes body,
                        std::vector<UniqueFd> fds) {
  if (!socket_) return;
  FrameHeader header;
  header.length = static_cast<uint32_t>(head.size() + body.size());
  header.type = static_cast<uint8_t>(type);
  header.fds = static_cast<uint8_t>(fds.size());
  std::string bytes;
  bytes.reserve(sizeof header + head.size());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(head);
  if (fds.empty()) {
    out_.Append(std::move(bytes));
  } else {
    out_.AppendWithOwnFds(std::move(bytes), std::move(fds));
  }
  out_.Append(std::move(body));
  ScheduleFlush();
}

void FrameChannel::ScheduleFlush() {
  if (flush_scheduled_ || waiting_writable_) return;
  flush_scheduled_ = true;
  loop_->Defer([this, alive = alive_] {
    if (*alive) Flush();
  });
}

bool FrameChannel::Flush() {
  flush_scheduled_ = false;
  if (!socket_) return false;
  const OutQueue::State state = out_.Flush(socket_.get());
  // If the connection has ended, the reading side reports it.
  const bool waiting =
      state == OutQueue::State::kBlocked || state == OutQueue::State::kBusy;
  if (waiting != waiting_writable_) {
    waiting_writable_ = waiting;
    loop_->Rewatch(socket_.get(), EPOLLIN | (waiting ? EPOLLOUT : 0u));
  }
  return state == OutQueue::State::kEmpty;
}

void FrameChannel::OnEvents(uint32_t events) {
  if (events & EPOLLOUT) Flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Serve();
}

void FrameChannel::Serve() {
  const Alive alive = alive_;
  if (std::exchange(round_, loop_->round()) != loop_->round()) delivered_ = 0;
  // Frames that an earlier round has read are delivered first.
  for (int reads = 0;; ++reads) {
    if (!DeliverFrames(alive)) return;
    if (delivered_ >= kFramesPerRound) return ServeLater();
    if (reads == kReadsPerRound || !ReadSome()) return;
  }
}

// The loop runs some levels of deferred work in one round.
void FrameChannel::ServeLater() {
  if (std::exchange(serve_scheduled_, true)) return;
  loop_->Defer([this, alive = alive_] {
    if (!*alive || !socket_) return;
    serve_scheduled_ = false;
    if (round_ == loop_->round()) return ServeLater();
    Serve();
  });
}

// Reads ahead. The end of the connection is ignored here, because the next
// regular read finds it again.
bool FrameChannel::HasWaiting(const Wanted& wanted) {
  if (!socket_) return false;
  while (in_.size() < kReadAhead &&
         in_.Receive(socket_.get()) == InBuffer::State::kReceived) {
  }
  std::string_view rest = in_.view();
  while (rest.size() >= sizeof(FrameHeader)) {
    FrameHeader header;
    memcpy(&header, rest.data(), sizeof header);
    rest.remove_prefix(sizeof header);
    if (rest.size() < header.length) return false;
    if (wanted(static_cast<FrameType>(header.type),
               rest.substr(0, header.length))) {
      return true;
    }
    rest.remove_prefix(header.length);
  }
  return false;
}

bool FrameChannel::ReadSome() {
  switch (in_.Receive(socket_.get(), partial_)) {
    case InBuffer::State::kReceived:
      return true;
    case InBuffer::State::kBlocked:
      return false;
    case InBuffer::State::kEnded:
      Fail("connection closed");
      return false;
    case InBuffer::State::kBroken:
      Fail(strerror(errno));
      return false;
  }
  return false;
}

bool FrameChannel::DeliverFrames(const Alive& alive) {
  partial_ = 0;
  while (in_.size() >= sizeof(FrameHeader) && delivered_ < kFramesPerRound) {
    FrameHeader header;
    memcpy(&header, in_.view().data(), sizeof header);
    if (header.length > max_payload_ || header.zero != 0) {
      Fail("malformed frame");
      return false;
    }
    const size_t size = sizeof header + header.length;
    if (in_.size() < size) {
      partial_ = size;
      return true;
    }
    Frame frame{static_cast<FrameType>(header.type),
                in_.view().substr(sizeof header, header.length),
                {}};
    if (!in_.TakeFds(header.fds, &frame.fds)) {
      Fail("descriptors missing");
      return false;
    }
    in_.Consume(size);
    ++delivered_;
    const auto on_frame = on_frame_;
    (*on_frame)(frame);
    if (!*alive || !socket_) return false;
  }
  return true;
}

void FrameChannel::Fail(const std::string& reason) {
  if (!socket_) return;
  loop_->Unwatch(socket_.get());
  socket_.Reset();
  out_ = OutQueue();
  in_.DropFds();
  // The callback is copied, because it may destroy this object.
  const OnClosed on_closed = on_closed_;
  on_closed(reason);
}

}  // namespace canopy::process
