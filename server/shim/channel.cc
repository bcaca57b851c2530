#include "server/shim/channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::process {
namespace {

constexpr size_t kInitialCapacity = 128u << 10;
constexpr size_t kMaxParts = 64;
// Reads in one round before other descriptors get their turn.
constexpr int kReadsPerRound = 4;
// The kernel's limit on descriptors in one message.
constexpr size_t kMaxMessageFds = 253;

void AttachFds(const std::vector<UniqueFd>& fds, char* control, msghdr* msg) {
  msg->msg_control = control;
  msg->msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* cmsg = CMSG_FIRSTHDR(msg);
  cmsg->cmsg_level = SOL_SOCKET;
  cmsg->cmsg_type = SCM_RIGHTS;
  cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  for (size_t i = 0; i < fds.size(); ++i) {
    const int fd = fds[i].get();
    memcpy(CMSG_DATA(cmsg) + i * sizeof fd, &fd, sizeof fd);
  }
}

void CollectFds(msghdr* msg, std::deque<UniqueFd>* fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(msg); c != nullptr; c = CMSG_NXTHDR(msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      fds->emplace_back(fd);
    }
  }
}

}  // namespace

FrameChannel::FrameChannel(EventLoop* loop, UniqueFd socket, OnFrame on_frame,
                           OnClosed on_closed)
    : loop_(loop),
      socket_(std::move(socket)),
      on_frame_(std::make_shared<const OnFrame>(std::move(on_frame))),
      on_closed_(std::move(on_closed)),
      in_(std::make_unique_for_overwrite<char[]>(kInitialCapacity)),
      in_capacity_(kInitialCapacity) {
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
  Outgoing out;
  out.head.reserve(sizeof header + head.size());
  out.head.append(reinterpret_cast<const char*>(&header), sizeof header);
  out.head.append(head);
  out.body = std::move(body);
  out.fds = std::move(fds);
  out_.push_back(std::move(out));
  ScheduleFlush();
}

void FrameChannel::ScheduleFlush() {
  if (flush_scheduled_ || waiting_writable_) return;
  flush_scheduled_ = true;
  loop_->Defer([this, alive = alive_] {
    if (*alive) Flush();
  });
}

void FrameChannel::Flush() {
  flush_scheduled_ = false;
  while (socket_ && !out_.empty() && SendSome()) {
  }
  const bool waiting = socket_ && !out_.empty();
  if (waiting == waiting_writable_) return;
  waiting_writable_ = waiting;
  if (!socket_) return;
  loop_->Rewatch(socket_.get(), EPOLLIN | (waiting ? EPOLLOUT : 0u));
}

bool FrameChannel::SendSome() {
  iovec parts[kMaxParts];
  size_t n = 0;
  size_t skip = out_offset_;
  const auto add = [&](std::string_view s) {
    const size_t skipped = std::min(skip, s.size());
    skip -= skipped;
    s.remove_prefix(skipped);
    if (!s.empty()) parts[n++] = {const_cast<char*>(s.data()), s.size()};
  };
  for (size_t i = 0; i < out_.size() && n + 2 <= kMaxParts; ++i) {
    if (i > 0 && !out_[i].fds.empty()) break;
    add(out_[i].head);
    add(out_[i].body.view());
  }
  msghdr msg{};
  msg.msg_iov = parts;
  msg.msg_iovlen = n;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  if (!out_.front().fds.empty()) AttachFds(out_.front().fds, control, &msg);
  const ssize_t sent = sendmsg(socket_.get(), &msg, MSG_NOSIGNAL);
  // The end of the connection is reported by the reading side.
  if (sent < 0) return errno == EINTR;
  out_.front().fds.clear();
  Consumed(static_cast<size_t>(sent));
  return true;
}

void FrameChannel::Consumed(size_t bytes) {
  out_offset_ += bytes;
  while (!out_.empty() && out_offset_ >= out_.front().size()) {
    out_offset_ -= out_.front().size();
    out_.pop_front();
  }
}

void FrameChannel::OnEvents(uint32_t events) {
  const Alive alive = alive_;
  if (events & EPOLLOUT) Flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  for (int i = 0; i < kReadsPerRound; ++i) {
    if (!ReadSome()) return;
    if (!DeliverFrames(alive)) return;
  }
}

bool FrameChannel::ReadSome() {
  MakeRoom();
  iovec part = {in_.get() + in_end_, in_capacity_ - in_end_};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr msg{};
  msg.msg_iov = &part;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(socket_.get(), &msg, MSG_CMSG_CLOEXEC);
  if (n > 0) {
    CollectFds(&msg, &in_fds_);
    in_end_ += static_cast<size_t>(n);
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  Fail(n == 0 ? "connection closed" : strerror(errno));
  return false;
}

void FrameChannel::MakeRoom() {
  size_t wanted = kInitialCapacity;
  if (in_end_ - in_begin_ >= sizeof(FrameHeader)) {
    FrameHeader header;
    memcpy(&header, in_.get() + in_begin_, sizeof header);
    wanted = std::max(wanted, sizeof header + header.length);
  }
  const size_t have = in_end_ - in_begin_;
  if (wanted != in_capacity_ && have < wanted) {
    auto bigger = std::make_unique_for_overwrite<char[]>(wanted);
    memcpy(bigger.get(), in_.get() + in_begin_, have);
    in_ = std::move(bigger);
    in_capacity_ = wanted;
  } else if (in_begin_ > 0) {
    memmove(in_.get(), in_.get() + in_begin_, have);
  }
  in_begin_ = 0;
  in_end_ = have;
}

bool FrameChannel::DeliverFrames(const Alive& alive) {
  while (in_end_ - in_begin_ >= sizeof(FrameHeader)) {
    FrameHeader header;
    memcpy(&header, in_.get() + in_begin_, sizeof header);
    if (header.length > kMaxPayload || header.zero != 0) {
      Fail("malformed frame");
      return false;
    }
    const size_t size = sizeof header + header.length;
    if (in_end_ - in_begin_ < size) return true;
    Frame frame{static_cast<FrameType>(header.type),
                {in_.get() + in_begin_ + sizeof header, header.length},
                {}};
    if (!TakeFds(header.fds, &frame.fds)) {
      Fail("descriptors missing");
      return false;
    }
    in_begin_ += size;
    const auto on_frame = on_frame_;
    (*on_frame)(frame);
    if (!*alive || !socket_) return false;
  }
  return true;
}

bool FrameChannel::TakeFds(size_t count, std::vector<UniqueFd>* fds) {
  if (count > in_fds_.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    fds->push_back(std::move(in_fds_.front()));
    in_fds_.pop_front();
  }
  return true;
}

void FrameChannel::Fail(const std::string& reason) {
  if (!socket_) return;
  loop_->Unwatch(socket_.get());
  socket_.Reset();
  out_.clear();
  in_fds_.clear();
  // A copy, because the callback may destroy this object.
  const OnClosed on_closed = on_closed_;
  on_closed(reason);
}

}  // namespace canopy::process
