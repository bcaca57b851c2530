#include "client/cli/commands/log_follow.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/json.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/spawn_program.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli {
namespace {

constexpr int kLookMs = 500;

// The running command of one source.
struct Tail {
  std::string node;
  pid_t pid = 0;
  UniqueFd output;   // empty: the output has ended
  std::string held;  // the beginning of an unfinished line
};

Result<Tail> Start(const LogSource& source) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrJobSysOpFailed,
                  std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  Tail tail;
  tail.node = source.node;
  tail.output = UniqueFd(fds[0]);
  const UniqueFd writer(fds[1]);
  // The command has its own process group, so that Ctrl-C reaches only this
  // process.
  const int error =
      SpawnProgram(source.command[0], source.command, writer.get(),
                   {.searches_path = true, .own_group = true}, &tail.pid);
  if (error == 0) return tail;
  return Status(kErrJobSysOpFailed, "cannot start " + source.command[0] + ": " +
                                        std::strerror(error));
}

class Follower {
 public:
  explicit Follower(const FollowOptions& options) : options_(options) {}
  ~Follower() {
    for (Tail& tail : tails_) (void)End(&tail);
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  Status Begin(const std::vector<LogSource>& sources) {
    for (const LogSource& source : sources) {
      Result<Tail> tail = Start(source);
      if (!tail.ok()) return tail.status();
      tails_.push_back(*std::move(tail));
    }
    return Status();
  }

  int Run() {
    while (!interrupted_ && !failed_ && AnyRuns()) {
      // The end of the agents is checked only while no lines arrive, so their
      // last lines are printed.
      if (!Wait() && options_.ended()) break;
    }
    return failed_ ? kExitFailure : 0;
  }

 private:
  bool AnyRuns() const {
    return std::ranges::any_of(
        tails_, [](const Tail& tail) { return bool{tail.output}; });
  }

  // Waits for output and prints it. Returns false if none arrives within
  // kLookMs.
  bool Wait() {
    std::vector<pollfd> polls = {{signals_.fd(), POLLIN, 0}};
    for (const Tail& tail : tails_) {
      polls.push_back({tail.output ? tail.output.get() : -1, POLLIN, 0});
    }
    if (poll(polls.data(), polls.size(), kLookMs) <= 0) return false;
    for (size_t i = 0; i < tails_.size(); ++i) {
      if (polls[i + 1].revents != 0) Read(&tails_[i]);
    }
    while (const std::optional<int> signal = signals_.Take()) {
      if (*signal == SIGTSTP) raise(SIGSTOP);
      if (IsEndSignal(*signal)) interrupted_ = true;
    }
    return true;
  }

  void Read(Tail* tail) {
    char piece[16384];
    const ssize_t size = read(tail->output.get(), piece, sizeof piece);
    if (size < 0 && errno == EINTR) return;
    if (size <= 0) return OnEnd(tail);
    tail->held.append(piece, static_cast<size_t>(size));
    size_t begin = 0;
    std::string text;
    for (size_t end; (end = tail->held.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      text += Shown(*tail, tail->held.substr(begin, end - begin));
    }
    tail->held.erase(0, begin);
    if (PrintText(text) != 0) failed_ = true;
  }

  std::string Shown(const Tail& tail, const std::string& line) const {
    if (!options_.json) {
      return (options_.named ? tail.node + ": " : "") + line + "\n";
    }
    Json out;
    out["node"] = tail.node;
    out["line"] = line;
    return LineText(out);
  }

  void OnEnd(Tail* tail) {
    tail->output.Reset();
    if (End(tail) == 0) return;
    PrintError("node '" + tail->node + "': its log cannot be followed");
    failed_ = true;
  }

  // Ends the command. Returns its status, as waitpid reports it.
  static int End(Tail* tail) {
    if (tail->pid == 0) return 0;
    const pid_t pid = std::exchange(tail->pid, 0);
    if (tail->output) kill(-pid, SIGTERM);
    return AwaitEnd(pid);
  }

  const FollowOptions& options_;
  SignalSource signals_;
  std::vector<Tail> tails_;
  bool interrupted_ = false;
  bool failed_ = false;
};

}  // namespace

int FollowLogs(const std::vector<LogSource>& sources,
               const FollowOptions& options) {
  Follower follower(options);
  if (Status s = follower.Begin(sources); !s.ok()) return Fail(s);
  return follower.Run();
}

}  // namespace canopy::cli
