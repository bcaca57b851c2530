#include "client/cli/run_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/posix/unix_socket.h"
#include "common/run_protocol.h"

namespace canopy::cli {
namespace {

constexpr size_t kReadSize = 64 << 10;

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
  greeted_ = wait.revents != 0 && ReadMessage() && length_ == 0;
  return greeted_;
}

bool RunSocket::Write(const control::v1::RunRequest& request) {
  std::string frame(kRunFrameHead, '\0');
  if (!request.AppendToString(&frame)) return true;
  PutRunFrameLength(static_cast<uint32_t>(frame.size() - kRunFrameHead),
                    frame.data());
  std::lock_guard<std::mutex> lock(write_mutex_);
  for (size_t at = 0; at < frame.size();) {
    const ssize_t n =
        send(socket_.get(), frame.data() + at, frame.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

bool RunSocket::ReadMessage() {
  taken_ += length_;
  length_ = 0;
  for (;;) {
    const size_t have = in_.size() - taken_;
    if (have >= kRunFrameHead) {
      const uint32_t length = RunFrameLength(in_.data() + taken_);
      if (length > kMaxRunMessage) {
        why_ = "what it sends makes no sense";
        return false;
      }
      if (have - kRunFrameHead >= length) {
        taken_ += kRunFrameHead;
        length_ = length;
        return true;
      }
    }
    in_.erase(0, std::exchange(taken_, 0));
    char buffer[kReadSize];
    const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) why_ = std::strerror(errno);
    if (n <= 0) return false;
    in_.append(buffer, static_cast<size_t>(n));
  }
}

bool RunSocket::Read(control::v1::RunEvent* event) {
  if (ended_ || !ReadMessage()) return false;
  if (event->ParseFromArray(in_.data() + taken_, static_cast<int>(length_))) {
    ended_ = event->has_end();
    return true;
  }
  why_ = "what it sends makes no sense";
  return false;
}

}  // namespace canopy::cli
