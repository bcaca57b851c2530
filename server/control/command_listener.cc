#include "server/control/command_listener.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "common/posix/unix_socket.h"

namespace canopy::control {
namespace {

constexpr int kBacklog = 128;
// Two descriptors per call: one for the call itself, and another one that gRPC
// sometimes needs.
constexpr Acceptor::Reserve kReserve = {8, 2};

}  // namespace

bool IsTrusted(int /*fd*/, uid_t user) {
  return user == geteuid() || user == 0;
}

CommandListener::CommandListener(EventLoop* loop, OnConnection on_connection,
                                 Admits admits)
    : loop_(loop),
      on_connection_(std::move(on_connection)),
      admits_(std::move(admits)) {}

CommandListener::~CommandListener() { Stop(); }

Status CommandListener::Start(const std::string& path, mode_t mode) {
  Result<UniqueFd> listener = ListenUnix(path, kBacklog, mode);
  if (!listener.ok()) return listener.status();
  path_ = path;
  acceptor_ = Acceptor(*std::move(listener), kReserve);
  loop_->Watch(acceptor_.fd(), EPOLLIN, [this](uint32_t) { OnConnections(); });
  return Status();
}

void CommandListener::Stop() {
  if (!acceptor_) return;
  loop_->Unwatch(acceptor_.fd());
  unlink(path_.c_str());
  acceptor_ = Acceptor();
}

void CommandListener::OnConnections() {
  acceptor_.Accept([this](UniqueFd fd) {
    const Result<uid_t> user = GetPeerUser(fd.get());
    if (user.ok() && admits_(fd.get(), *user)) on_connection_(std::move(fd));
  });
}

}  // namespace canopy::control
