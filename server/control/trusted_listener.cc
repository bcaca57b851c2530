#include "server/control/trusted_listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/posix/unix_socket.h"

namespace canopy::control {
namespace {

constexpr int kBacklog = 128;
// Two descriptors per call: one for the call itself, and another one that gRPC
// sometimes needs.
constexpr Acceptor::Reserve kReserve = {8, 2};

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
  acceptor_ = Acceptor(*std::move(listener), kReserve);
  loop_->Watch(acceptor_.fd(), EPOLLIN, [this](uint32_t) { OnConnections(); });
  return Status();
}

void TrustedListener::Stop() {
  if (!acceptor_) return;
  loop_->Unwatch(acceptor_.fd());
  unlink(path_.c_str());
  acceptor_ = Acceptor();
}

void TrustedListener::OnConnections() {
  acceptor_.Accept([this](UniqueFd fd) {
    if (IsTrusted(fd.get())) on_connection_(std::move(fd));
  });
}

}  // namespace canopy::control
