#include "server/kubernetes/device_plugin/plugin_socket.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "common/posix/unix_socket.h"
#include "server/net/socket_state.h"

namespace canopy::kubernetes {
namespace {

constexpr int kPluginBacklog = 16;
// Two descriptors per connection: one for the connection itself, and another
// one that gRPC sometimes needs.
constexpr Acceptor::Reserve kPluginReserve = {4, 2};

}  // namespace

PluginSocket::PluginSocket(EventLoop* loop, std::string path,
                           std::function<void(UniqueFd)> on_connection)
    : loop_(loop),
      path_(std::move(path)),
      on_connection_(std::move(on_connection)) {}

PluginSocket::~PluginSocket() { Close(); }

PluginSocket::FileState PluginSocket::StateOfFile() const {
  const std::optional<FileIdentity> now = IdentityOf(path_);
  if (!now) return FileState::kMissing;
  const bool is_own =
      file_ && now->device == file_->device && now->inode == file_->inode;
  return is_own ? FileState::kOwn : FileState::kForeign;
}

Status PluginSocket::Open() {
  if (!acceptor_) return Listen();
  switch (StateOfFile()) {
    case FileState::kOwn:
      return Status();
    case FileState::kMissing:
      StopListening();
      return Listen();
    case FileState::kForeign:
      break;
  }
  return Status(kErrExists, "another process has replaced socket " + path_);
}

Status PluginSocket::Listen() {
  Result<UniqueFd> listener = ListenUnix(path_, kPluginBacklog);
  if (!listener.ok()) return listener.status();
  file_ = IdentityOf(path_);
  acceptor_ = Acceptor(*std::move(listener), kPluginReserve);
  loop_->Watch(acceptor_.fd(), EPOLLIN, [this](uint32_t) { OnConnections(); });
  return Status();
}

void PluginSocket::StopListening() {
  loop_->Unwatch(acceptor_.fd());
  acceptor_ = Acceptor();
}

void PluginSocket::Close() {
  if (!acceptor_) return;
  StopListening();
  if (StateOfFile() == FileState::kOwn) unlink(path_.c_str());
}

void PluginSocket::OnConnections() {
  acceptor_.Accept([this](UniqueFd fd) {
    if (Admit(fd.get())) on_connection_(std::move(fd));
  });
}

bool PluginSocket::Admit(int fd) {
  std::erase_if(connections_, [](const Connection& connection) {
    return net::CookieOf(connection.fd) != connection.cookie;
  });
  if (connections_.size() >= kMaxConnections) return false;
  connections_.push_back({fd, net::CookieOf(fd)});
  return true;
}

}  // namespace canopy::kubernetes
