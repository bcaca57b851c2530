#include "common/posix/out_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy {
namespace {

// Frames up to this size are joined by copying.
constexpr size_t kJoin = 16 << 10;
constexpr int kMaxParts = 64;

void AttachFds(const std::vector<SharedFd>& fds, char* control,
               msghdr* message) {
  message->msg_control = control;
  message->msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* const header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  for (size_t i = 0; i < fds.size(); ++i) {
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fds[i].fd, sizeof(int));
  }
}

}  // namespace

void OutQueue::Append(std::string bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!chunks_.empty()) {
    Chunk& last = chunks_.back();
    if (last.shared.empty() && last.text.size() + bytes.size() <= kJoin) {
      last.text.append(bytes);
      return;
    }
  }
  chunks_.push_back({std::move(bytes), {}, {}});
}

void OutQueue::Append(Bytes bytes) {
  if (bytes.size() <= kJoin / 4) return Append(std::string(bytes.view()));
  size_ += bytes.size();
  chunks_.push_back({{}, std::move(bytes), {}});
}

void OutQueue::AppendWithFds(std::string bytes, std::vector<SharedFd> fds) {
  size_ += bytes.size();
  fds.resize(std::min(fds.size(), kMaxFds));
  chunks_.push_back({std::move(bytes), {}, std::move(fds)});
}

void OutQueue::AppendWithOwnFds(std::string bytes, std::vector<UniqueFd> fds) {
  const auto owner =
      std::make_shared<const std::vector<UniqueFd>>(std::move(fds));
  std::vector<SharedFd> shared;
  for (const UniqueFd& fd : *owner) shared.push_back({fd.get(), owner});
  AppendWithFds(std::move(bytes), std::move(shared));
}

std::string OutQueue::Front(size_t bytes) const {
  std::string out;
  size_t skip = front_sent_;
  for (const Chunk& chunk : chunks_) {
    if (out.size() >= bytes) break;
    out.append(chunk.view().substr(skip, bytes - out.size()));
    skip = 0;
  }
  return out;
}

OutQueue::State OutQueue::Flush(int socket) {
  while (!chunks_.empty()) {
    iovec parts[kMaxParts];
    int count = 0;
    size_t skip = front_sent_;
    for (const Chunk& chunk : chunks_) {
      if (count == kMaxParts || (count > 0 && !chunk.fds.empty())) break;
      const std::string_view view = chunk.view().substr(skip);
      parts[count++] = {const_cast<char*>(view.data()), view.size()};
      skip = 0;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(count);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
    const std::vector<SharedFd>& fds = chunks_.front().fds;
    if (!fds.empty() && front_sent_ == 0) AttachFds(fds, control, &message);
    const ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      Sent(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return State::kBlocked;
    } else if (errno == ETOOMANYREFS) {
      return State::kBusy;
    } else if (errno != EINTR) {
      return State::kBroken;
    }
  }
  return State::kEmpty;
}

void OutQueue::Sent(size_t bytes) {
  size_ -= bytes;
  bytes += front_sent_;
  while (!chunks_.empty() && bytes >= chunks_.front().view().size()) {
    bytes -= chunks_.front().view().size();
    chunks_.pop_front();
  }
  front_sent_ = bytes;
}

}  // namespace canopy
