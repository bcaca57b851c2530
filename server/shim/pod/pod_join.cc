#include "server/shim/pod/pod_join.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "common/posix/unix_socket.h"
#include "common/status.h"

namespace canopy::process {
namespace {

constexpr int kFirstPauseMs = 50;
constexpr int kLongestPauseMs = 1000;
constexpr int64_t kQuietMs = 5000;  // a shorter absence is not reported
// An agent that has kept the connection for this time works.
constexpr int64_t kServedMs = 1000;
constexpr uint32_t kMaxNotice = 64u << 10;

int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void Say(const std::string& text) {
  fprintf(stderr, "canopy-exec: %s\n", text.c_str());
}

bool SendAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool ReceiveAll(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, out, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool SendJoin(int fd, const JoinPod& join) {
  const std::string payload = Encode(join);
  FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = static_cast<uint8_t>(FrameType::kJoinPod);
  return SendAll(fd, {reinterpret_cast<const char*>(&header), sizeof header}) &&
         SendAll(fd, payload);
}

int ExitOf(int status) {
  switch (status) {
    case kErrBadParam:
    case kErrNoPermissions:
    case kErrNotFound:
    case kErrNotSupported:
      return kPodRefusedExit;
    default:
      return kPodRetryExit;
  }
}

class Joiner {
 public:
  explicit Joiner(const PodJoinOptions& options) : options_(options) {}

  PodJoined Join() {
    while (true) {
      Result<UniqueFd> connection = ConnectUnix(options_.socket);
      std::string why = connection.status().message();
      if (connection.ok()) {
        const int64_t begin = NowMs();
        if (SendJoin(connection->get(), options_.join) &&
            Await(connection->get())) {
          return {*std::move(connection), 0};
        }
        if (NowMs() - begin > kServedMs) away_since_ = 0;
        why = "the agent has closed the connection";
      }
      if (!exit_) Pause(why);
      if (exit_) return {UniqueFd(), *exit_};
    }
  }

 private:
  // Waits until the job is at the connection. Returns false if the connection
  // or the wait has ended.
  bool Await(int fd) {
    while (WaitFor(fd, -1)) {
      FrameHeader header;
      const ssize_t n =
          recv(fd, &header, sizeof header, MSG_PEEK | MSG_WAITALL);
      if (n != sizeof header) return false;
      if (header.type != static_cast<uint8_t>(FrameType::kNotice)) return true;
      if (!TakeNotice(fd, header)) return false;
    }
    return false;
  }

  bool TakeNotice(int fd, FrameHeader header) {
    if (header.length > kMaxNotice) return false;
    std::string payload(header.length, '\0');
    Notice notice;
    if (!ReceiveAll(fd, reinterpret_cast<char*>(&header), sizeof header) ||
        !ReceiveAll(fd, payload.data(), payload.size()) ||
        !Decode(payload, &notice)) {
      return false;
    }
    Say(notice.text);
    if (notice.status != kSuccess) exit_ = ExitOf(notice.status);
    return notice.status == kSuccess;
  }

  // Waits until the descriptor is readable, or `ms` milliseconds have passed.
  // Returns false at the end of the time, and after a signal, which sets
  // `exit_`.
  bool WaitFor(int fd, int ms) {
    pollfd events[] = {{options_.signals, POLLIN, 0}, {fd, POLLIN, 0}};
    if (poll(events, 2, ms) <= 0) return false;
    signalfd_siginfo info;
    if (events[0].revents != 0 &&
        read(options_.signals, &info, sizeof info) == sizeof info &&
        info.ssi_signo != SIGCHLD) {
      exit_ = 128 + static_cast<int>(info.ssi_signo);
      return false;
    }
    return events[1].revents != 0;
  }

  // Waits before the next attempt.
  void Pause(const std::string& why) {
    const int64_t now = NowMs();
    if (away_since_ == 0) {
      away_since_ = now;
      pause_ms_ = kFirstPauseMs;
    }
    if (now - away_since_ > options_.agent_wait_ms) {
      Say("no agent of this node has served " + options_.socket + " for " +
          std::to_string(options_.agent_wait_ms / 1000) + " s: " + why);
      exit_ = kPodRetryExit;
      return;
    }
    if (!said_ && now - away_since_ > kQuietMs) {
      said_ = true;
      Say("waiting for the agent of this node: " + why);
    }
    WaitFor(-1, pause_ms_);
    pause_ms_ = std::min(2 * pause_ms_, kLongestPauseMs);
  }

  const PodJoinOptions& options_;
  int64_t away_since_ = 0;  // 0: the agent is there
  int pause_ms_ = kFirstPauseMs;
  bool said_ = false;
  std::optional<int> exit_;
};

}  // namespace

PodJoined JoinAgent(const PodJoinOptions& options) {
  return Joiner(options).Join();
}

}  // namespace canopy::process
