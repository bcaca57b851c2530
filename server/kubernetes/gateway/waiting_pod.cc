#include "server/kubernetes/gateway/waiting_pod.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::kubernetes {

WaitingPod::WaitingPod(EventLoop* loop, UniqueFd fd, Events events)
    : loop_(loop),
      fd_(std::move(fd)),
      events_(std::make_shared<const Events>(std::move(events))) {
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  loop_->Watch(fd_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
  timer = loop_->AddTimer(kJoinNs, [this] {
    timer = 0;
    Gone("it has sent no JoinPod in time");
  });
}

WaitingPod::~WaitingPod() {
  if (timer != 0) loop_->CancelTimer(timer);
  if (fd_) loop_->Unwatch(fd_.get());
}

void WaitingPod::Gone(const std::string& reason) {
  // The callback is shared, because it may destroy this object.
  const std::shared_ptr<const Events> events = events_;
  events->on_gone(reason);
}

// Reads no more than the frame, because the job's frames may follow it after
// the connection was taken.
void WaitingPod::OnReadable() {
  char buffer[4096];
  const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return Gone("it has closed the connection");
  in_.append(buffer, static_cast<size_t>(n));
  if (joined_ || !TakeFrame()) return Gone("it broke the protocol");
  if (!joined_) return;
  loop_->CancelTimer(std::exchange(timer, 0));
  const std::shared_ptr<const Events> events = events_;
  events->on_join();
}

bool WaitingPod::TakeFrame() {
  process::FrameHeader header;
  if (in_.size() < sizeof header) return true;
  std::memcpy(&header, in_.data(), sizeof header);
  if (header.type != static_cast<uint8_t>(process::FrameType::kJoinPod) ||
      header.fds != 0 || header.length > kMaxJoin) {
    return false;
  }
  const size_t size = sizeof header + header.length;
  if (in_.size() < size) return true;
  if (in_.size() > size ||
      !process::Decode(std::string_view(in_).substr(sizeof header), &join_)) {
    return false;
  }
  std::string().swap(in_);
  joined_ = true;
  return true;
}

void WaitingPod::Send(const process::Notice& notice) {
  const std::string payload = process::Encode(notice);
  process::FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = static_cast<uint8_t>(process::FrameType::kNotice);
  const std::string frame =
      std::string(reinterpret_cast<const char*>(&header), sizeof header) +
      payload;
  // A part of a frame could not be continued, so the connection ends then.
  const ssize_t n =
      send(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0 && static_cast<size_t>(n) < frame.size()) {
    shutdown(fd_.get(), SHUT_RDWR);
  }
}

UniqueFd WaitingPod::Take() {
  loop_->Unwatch(fd_.get());
  return std::move(fd_);
}

}  // namespace canopy::kubernetes
