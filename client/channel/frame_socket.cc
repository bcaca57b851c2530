#include "client/channel/frame_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "common/local/limits.h"
#include "common/status.h"

namespace canopy::client {
namespace {

constexpr size_t kInitialCapacity = 16 * 1024;
// Limit of the descriptors in one message; any further ones are closed.
constexpr int kMaxFdsPerRead = 16;
// The number of received descriptors that may wait for TakeFd.
constexpr size_t kMaxHeldFds = 64;

}  // namespace

FrameSocket::FrameSocket(UniqueFd fd) : fd_(std::move(fd)) {}

int FrameSocket::SendAll(struct iovec* parts, int count) {
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(count);
  while (message.msg_iovlen > 0) {
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return kErrLostConnection;
    }
    size_t left = static_cast<size_t>(sent);
    while (message.msg_iovlen > 0 && left >= message.msg_iov->iov_len) {
      left -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen > 0) {
      message.msg_iov->iov_base =
          static_cast<char*>(message.msg_iov->iov_base) + left;
      message.msg_iov->iov_len -= left;
    }
  }
  return kSuccess;
}

int FrameSocket::Send(local::FrameType type, uint64_t tag,
                      std::string_view payload) {
  const auto number = static_cast<uint16_t>(type);
  if (payload.size() > local::MaxPayloadOf(number)) return kErrOutOfResource;
  local::FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = number;
  header.tag = tag;
  iovec parts[2] = {{&header, sizeof(header)},
                    {const_cast<char*>(payload.data()), payload.size()}};
  if (commits_ != nullptr && type == local::FrameType::kCommit) {
    commits_->fetch_add(1, std::memory_order_relaxed);
  }
  const MutexLock lock(send_mu_);
  return SendAll(parts, payload.empty() ? 1 : 2);
}

bool FrameSocket::HeaderOf(local::FrameHeader* header) const {
  if (end_ - begin_ < sizeof(*header)) return false;
  memcpy(header, buffer_.get() + begin_, sizeof(*header));
  return true;
}

bool FrameSocket::MakeRoom() {
  size_t need = kInitialCapacity;
  local::FrameHeader header;
  if (HeaderOf(&header)) {
    need = std::max(need, sizeof(header) + header.length);
  }
  const size_t held = end_ - begin_;
  // The buffer of a large frame is freed as soon as the frame was returned.
  if (capacity_ < need || (held == 0 && capacity_ > kInitialCapacity)) {
    std::unique_ptr<char[]> larger(new (std::nothrow) char[need]);
    if (larger == nullptr) return false;
    if (held > 0) memcpy(larger.get(), buffer_.get() + begin_, held);
    buffer_ = std::move(larger);
    capacity_ = need;
  } else if (begin_ > 0 && held > 0) {
    memmove(buffer_.get(), buffer_.get() + begin_, held);
  }
  begin_ = 0;
  end_ = held;
  return true;
}

FrameSocket::ReadState FrameSocket::Read(bool wait) {
  if (broken_ || !MakeRoom()) return ReadState::kClosed;
  iovec part = {buffer_.get() + end_, capacity_ - end_};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFdsPerRead)];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = recvmsg(fd_.get(), &message,
                  MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return ReadState::kNothing;
  }
  if (got <= 0) return ReadState::kClosed;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
       c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds_.emplace_back(fd);
    }
  }
  if (fds_.size() > kMaxHeldFds) return ReadState::kClosed;
  end_ += static_cast<size_t>(got);
  return ReadState::kData;
}

std::optional<Frame> FrameSocket::Next() {
  local::FrameHeader header;
  if (!HeaderOf(&header)) return std::nullopt;
  if (header.length > local::kMaxPayload) {
    broken_ = true;
    return std::nullopt;
  }
  if (end_ - begin_ - sizeof(header) < header.length) return std::nullopt;
  Frame frame;
  frame.type = static_cast<local::FrameType>(header.type);
  frame.tag = header.tag;
  frame.payload = {buffer_.get() + begin_ + sizeof(header), header.length};
  begin_ += sizeof(header) + header.length;
  return frame;
}

UniqueFd FrameSocket::TakeFd() {
  if (fds_.empty()) return UniqueFd();
  UniqueFd fd = std::move(fds_.front());
  fds_.pop_front();
  return fd;
}

void FrameSocket::Shutdown() { shutdown(fd_.get(), SHUT_RDWR); }

}  // namespace canopy::client
