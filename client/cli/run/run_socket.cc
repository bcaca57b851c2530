#include "client/cli/run/run_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/posix/out_queue.h"
#include "common/posix/unix_socket.h"

namespace canopy::cli {
namespace {

constexpr size_t kReadSize = 64 << 10;
constexpr char kMalformed[] = "it sends malformed data";

bool IsOwnSocket(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) &&
         info.st_uid == geteuid();
}

}  // namespace

std::unique_ptr<RunSocket> RunSocket::Connect(
    const std::string& control_socket) {
  const std::string path = RunSocketBeside(control_socket);
  if (!IsOwnSocket(path)) return nullptr;
  Result<UniqueFd> socket = ConnectUnix(path);
  if (!socket.ok()) return nullptr;
  return std::unique_ptr<RunSocket>(new RunSocket(*std::move(socket)));
}

bool RunSocket::WaitGreeting(int timeout_ms) {
  if (greeted_) return true;
  pollfd wait = {socket_.get(), POLLIN, 0};
  while (poll(&wait, 1, timeout_ms) < 0) {
    if (errno != EINTR) return false;
  }
  std::string_view greeting;
  if (wait.revents == 0 || !ReadMessage(&greeting)) return false;
  at_leader_ = greeting.empty();
  greeted_ = at_leader_ || greeting == kGreetingElsewhere;
  return greeted_;
}

bool RunSocket::Write(const control::v1::RunRequest& request) {
  std::string frame = FrameMessage(request);
  if (frame.empty()) return true;
  OutQueue out;
  out.Append(std::move(frame));
  const MutexLock lock(write_mutex_);
  for (;;) {
    const OutQueue::State state = out.Flush(socket_.get());
    if (state != OutQueue::State::kBlocked) {
      return state == OutQueue::State::kEmpty;
    }
    pollfd wait = {socket_.get(), POLLOUT, 0};
    (void)poll(&wait, 1, -1);
  }
}

bool RunSocket::ReadMessage(std::string_view* message) {
  MessageReader::Next next;
  while ((next = in_.Take(message)) == MessageReader::Next::kIncomplete) {
    char buffer[kReadSize];
    const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) why_ = std::strerror(errno);
    if (n <= 0) return false;
    in_.Append({buffer, static_cast<size_t>(n)});
  }
  if (next == MessageReader::Next::kTooLong) why_ = kMalformed;
  return next == MessageReader::Next::kMessage;
}

bool RunSocket::Read(control::v1::RunEvent* event) {
  std::string_view message;
  if (ended_ || !ReadMessage(&message)) return false;
  if (event->ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    ended_ = event->has_end();
    return true;
  }
  why_ = kMalformed;
  return false;
}

}  // namespace canopy::cli
