#include "server/control/trusted_listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/posix/unix_socket.h"

namespace canopy::control {
namespace {

constexpr int kBacklog = 128;
constexpr size_t kReserve = 8;
// Each call needs one descriptor, and gRPC now and then another.
constexpr size_t kCallCost = 2;

bool IsTrusted(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

TrustedListener::TrustedListener(EventLoop* loop, OnConnection on_connection)
    : loop_(loop), on_connection_(std::move(on_connection)) {}

TrustedListener::~TrustedListener() { Stop(); }

Status TrustedListener::Start(const std::string& path) {
  Result<UniqueFd> listener = ListenUnix(path, kBacklog);
  if (!listener.ok()) return listener.status();
  path_ = path;
  listener_ = *std::move(listener);
  Reserve();
  loop_->Watch(listener_.get(), EPOLLIN, [this](uint32_t) { OnConnections(); });
  return Status();
}

void TrustedListener::Stop() {
  if (!listener_) return;
  loop_->Unwatch(listener_.get());
  unlink(path_.c_str());
  listener_.Reset();
  reserve_.clear();
}

void TrustedListener::Reserve() {
  while (reserve_.size() < kReserve) {
    UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) return;
    reserve_.push_back(std::move(fd));
  }
}

UniqueFd TrustedListener::Accept() {
  return UniqueFd(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

UniqueFd TrustedListener::AcceptFromReserve() {
  const size_t taken = std::min<size_t>(reserve_.size(), kCallCost);
  reserve_.resize(reserve_.size() - taken);
  UniqueFd fd = Accept();
  if (!fd || !reserve_.empty()) return fd;
  // The last one only turns callers away; left alone they would wake the loop
  // for ever.
  Reserve();
  if (!reserve_.empty()) return fd;
  fd.Reset();
  errno = ECONNABORTED;
  return fd;
}

void TrustedListener::OnConnections() {
  for (;;) {
    Reserve();
    UniqueFd fd = Accept();
    if (!fd && (errno == EMFILE || errno == ENFILE) && !reserve_.empty()) {
      fd = AcceptFromReserve();
    }
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (IsTrusted(fd.get())) on_connection_(std::move(fd));
  }
}

}  // namespace canopy::control
