#include "server/control/control_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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

ControlServer::ControlServer(EventLoop* loop) : loop_(loop) {}

ControlServer::~ControlServer() {
  if (!server_) return;
  loop_->Unwatch(listener_.get());
  unlink(path_.c_str());
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(200));
  server_->Wait();
}

Status ControlServer::Start(const std::string& socket_path,
                            grpc::Service* service) {
  Result<UniqueFd> listener = ListenUnix(socket_path, kBacklog);
  if (!listener.ok()) return listener.status();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (!server_) {
    unlink(socket_path.c_str());
    return Status(kErrServerFailedRequest, "cannot start the control service");
  }
  path_ = socket_path;
  listener_ = *std::move(listener);
  Reserve();
  loop_->Watch(listener_.get(), EPOLLIN, [this](uint32_t) { OnConnections(); });
  return Status();
}

void ControlServer::Reserve() {
  while (reserve_.size() < kReserve) {
    UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) return;
    reserve_.push_back(std::move(fd));
  }
}

UniqueFd ControlServer::Accept() {
  return UniqueFd(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

UniqueFd ControlServer::AcceptFromReserve() {
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

void ControlServer::OnConnections() {
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
    if (!IsTrusted(fd.get())) continue;
    grpc::AddInsecureChannelFromFd(server_.get(), fd.Release());
  }
}

}  // namespace canopy::control
