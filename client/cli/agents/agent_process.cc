#include "client/cli/agents/agent_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "client/cli/base/file_util.h"
#include "google/protobuf/message_lite.h"

namespace canopy::cli {
namespace {

// Only the end of the standard error is searched for its last line.
constexpr off_t kMaxLastWords = 4096;

void CloseOne(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

// The child gets an empty signal mask and the default disposition of SIGPIPE.
void ResetSignals(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(attributes, &none);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(attributes, &pipe);
  // A session of its own isolates the agent from the terminal's signals.
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID |
                                           POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETSIGDEF);
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  const size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text
                                                     : text.substr(start + 1));
}

}  // namespace

AgentProcess::~AgentProcess() {
  for (int* fd : {&pid_fd_, &to_, &from_, &errors_}) CloseOne(fd);
}

Status AgentProcess::MakePipes(int child[3]) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) {
    return Status(kErrSysLimitsFiles,
                  "cannot make pipes to the agents; raise 'ulimit -n'");
  }
  to_ = in[1];
  child[0] = in[0];
  // A memory file needs no reader, so the agent never blocks on its standard
  // error.
  errors_ = memfd_create("canopy-agent-stderr", MFD_CLOEXEC);
  if (errors_ < 0 || pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    return Status(kErrSysLimitsFiles,
                  "cannot make pipes to the agents; raise 'ulimit -n'");
  }
  fcntl(errors_, F_SETFL, O_APPEND);
  from_ = out[0];
  child[1] = out[1];
  child[2] = errors_;
  return Status();
}

Status AgentProcess::Spawn(std::vector<std::string> command) {
  int child[3] = {-1, -1, -1};
  if (Status status = MakePipes(child); !status.ok()) return status;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) {
    posix_spawn_file_actions_adddup2(&actions, child[i], i);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  ResetSignals(&attributes);
  std::vector<char*> argv;
  for (std::string& arg : command) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const int error =
      posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(child[0]);
  close(child[1]);
  if (error != 0) {
    pid_ = -1;
    return Status(kErrUnreach,
                  "cannot start '" + command[0] + "': " + strerror(error));
  }
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  fcntl(from_, F_SETFL, O_NONBLOCK);
  return Status();
}

bool AgentProcess::Send(const google::protobuf::MessageLite& message) {
  return WriteAll(to_, FrameMessage(message));
}

bool AgentProcess::Read() {
  char chunk[65536];
  ssize_t n;
  while ((n = read(from_, chunk, sizeof chunk)) > 0) {
    received_.Append({chunk, static_cast<size_t>(n)});
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

bool AgentProcess::Take(std::string* message, bool* broken) {
  std::string_view bytes;
  const MessageReader::Next next = received_.Take(&bytes);
  *broken |= next == MessageReader::Next::kTooLong;
  if (next != MessageReader::Next::kMessage) return false;
  *message = bytes;
  return true;
}

std::string AgentProcess::LastErrorLine() const {
  const off_t end = lseek(errors_, 0, SEEK_END);
  const off_t start = end > kMaxLastWords ? end - kMaxLastWords : 0;
  std::string text(static_cast<size_t>(end > start ? end - start : 0), '\0');
  const ssize_t n = pread(errors_, text.data(), text.size(), start);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return LastLine(text);
}

void AgentProcess::CloseInput() { CloseOne(&to_); }

void AgentProcess::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void AgentProcess::SignalGroup(int number) const {
  if (pid_ > 0) kill(-pid_, number);
}

bool AgentProcess::WaitEnd(int timeout_ms) {
  if (pid_ <= 0) return true;
  pollfd wait{pid_fd_, POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return false;
  waitpid(pid_, &wait_status_, 0);
  pid_ = -1;
  return true;
}

}  // namespace canopy::cli
