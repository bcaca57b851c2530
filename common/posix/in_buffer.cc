#include "common/posix/in_buffer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy {
namespace {

// The kernel's limit for descriptors in one message.
constexpr size_t kMaxMessageFds = 253;

void CollectFds(msghdr* message, std::deque<UniqueFd>* fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr;
       c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      fds->emplace_back(fd);
    }
  }
}

}  // namespace

InBuffer::InBuffer(size_t capacity)
    : usual_capacity_(capacity),
      capacity_(capacity),
      data_(std::make_unique_for_overwrite<char[]>(capacity)) {}

InBuffer::State InBuffer::Receive(int socket, size_t frame, int flags) {
  MakeRoom(frame);
  iovec part = {data_.get() + end_, capacity_ - end_};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? State::kBlocked : State::kBroken;
  if (n == 0) return State::kEnded;
  CollectFds(&message, &fds_);
  end_ += static_cast<size_t>(n);
  return State::kReceived;
}

// Makes room for more bytes. A frame that is larger than usual gets a larger
// buffer until it is consumed.
void InBuffer::MakeRoom(size_t frame) {
  const size_t have = size();
  const size_t wanted = std::max({usual_capacity_, frame, have + 1});
  if (wanted != capacity_ && have < wanted) {
    auto other = std::make_unique_for_overwrite<char[]>(wanted);
    std::memcpy(other.get(), data_.get() + begin_, have);
    data_ = std::move(other);
    capacity_ = wanted;
  } else if (begin_ > 0) {
    std::memmove(data_.get(), data_.get() + begin_, have);
  }
  begin_ = 0;
  end_ = have;
}

bool InBuffer::TakeFds(size_t count, std::vector<UniqueFd>* fds) {
  if (count > fds_.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    fds->push_back(std::move(fds_.front()));
    fds_.pop_front();
  }
  return true;
}

}  // namespace canopy
