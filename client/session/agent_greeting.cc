#include "client/session/agent_greeting.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <utility>

#include "common/describe.h"
#include "common/local/reply.h"

namespace canopy::client {
namespace {

using local::FrameType;

// The time limit for each system call that sends the hello or awaits its
// answer. The time is long, because a node that starts thousands of ranks may
// leave its agent without a CPU.
constexpr time_t kHandshakeSeconds = 120;
constexpr int kAttempts = 3;

// Limits the time for sending and receiving; 0 removes the limit.
void LimitTime(int fd, time_t seconds) {
  timeval limit = {};
  limit.tv_sec = seconds;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

// Copies the agent's answer out of the socket's buffer. With `wait` it blocks
// until the answer arrives.
Result<std::string> TakeWelcome(FrameSocket* socket, bool wait) {
  for (;;) {
    while (std::optional<Frame> frame = socket->Next()) {
      if (frame->type != FrameType::kReply) continue;
      local::Reply reply;
      if (!wire::Decode(frame->payload, &reply)) {
        return Status(kErrHandshakeFailed, "malformed welcome");
      }
      if (reply.status != kSuccess) {
        return Status(reply.status, "the agent refused");
      }
      return std::string(reply.payload);
    }
    switch (socket->Read(wait)) {
      case FrameSocket::ReadState::kData:
        break;
      case FrameSocket::ReadState::kNothing:
        return Status(kErrTimeout, "the agent does not answer");
      case FrameSocket::ReadState::kClosed:
        return Status(kErrUnreach, "the agent closed the connection");
    }
  }
}

Result<std::unique_ptr<FrameSocket>> Dial(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status(kErrBadParam, "path of the agent's socket is too long");
  }
  memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return Status(kErrOutOfResource, "no socket");
  LimitTime(fd.get(), kHandshakeSeconds);
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) != 0) {
    if (errno != EINTR) return Status(kErrUnreach, "no agent at " + path);
  }
  return std::make_unique<FrameSocket>(std::move(fd));
}

// Sends the hello and waits for the answer. An agent that refuses a user sends
// its answer before it has read a frame, and then sending the hello may fail.
Result<std::string> Greet(FrameSocket* socket, FrameType hello,
                          std::string_view payload) {
  const bool sent = socket->Send(hello, 1, payload) == kSuccess;
  Result<std::string> welcome = TakeWelcome(socket, /*wait=*/sent);
  if (welcome.ok()) LimitTime(socket->fd(), 0);
  return welcome;
}

}  // namespace

Result<Greeted> GreetAgent(const std::string& path, FrameType hello,
                           std::string_view payload) {
  for (int attempt = 1;; ++attempt) {
    auto socket = Dial(path);
    if (!socket.ok()) return socket.status();
    Result<std::string> welcome = Greet(socket->get(), hello, payload);
    if (welcome.ok()) {
      return Greeted{std::move(socket).value(), std::move(welcome).value()};
    }
    if (welcome.code() != kErrUnreach || attempt == kAttempts) {
      return welcome.status();
    }
  }
}

}  // namespace canopy::client
