#include "client/cli/agent_group.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

extern char** environ;

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxMessage = 64u << 20;
// The end of what an agent says on stderr is kept for the error message.
constexpr size_t kMaxStderr = 4096;

std::string Frame(const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  const uint32_t prefix = htonl(static_cast<uint32_t>(body.size()));
  std::string frame(sizeof prefix, '\0');
  std::memcpy(frame.data(), &prefix, sizeof prefix);
  return frame + body;
}

bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Takes one whole message off the front of `buffer`. False: not there yet.
bool TakeMessage(std::string* buffer, std::string* message, bool* broken) {
  uint32_t prefix = 0;
  if (buffer->size() < sizeof prefix) return false;
  std::memcpy(&prefix, buffer->data(), sizeof prefix);
  const uint32_t size = ntohl(prefix);
  if (size > kMaxMessage) {
    *broken = true;
    return false;
  }
  if (buffer->size() < sizeof prefix + size) return false;
  *message = buffer->substr(sizeof prefix, size);
  buffer->erase(0, sizeof prefix + size);
  return true;
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text
                                                     : text.substr(start + 1));
}

}  // namespace

struct AgentGroup::Member {
  enum class Phase { kHello, kState, kReady };

  AgentPlan plan;
  pid_t pid = -1;
  int to = -1;
  int from = -1;
  int errors = -1;
  Phase phase = Phase::kHello;
  std::string buffer;
  std::string stderr_text;
  bootstrap::v1::NodeInfo node;

  ~Member() {
    for (int fd : {to, from, errors}) {
      if (fd >= 0) close(fd);
    }
  }
  void CloseInput() {
    if (to >= 0) close(to);
    to = -1;
  }
  void DrainErrors();
  Status Spawn();
};

void AgentGroup::Member::DrainErrors() {
  char chunk[4096];
  ssize_t n;
  while ((n = read(errors, chunk, sizeof chunk)) > 0) {
    stderr_text.append(chunk, static_cast<size_t>(n));
    if (stderr_text.size() > kMaxStderr) {
      stderr_text.erase(0, stderr_text.size() - kMaxStderr);
    }
  }
}

Status AgentGroup::Member::Spawn() {
  int in[2];
  int out[2];
  int err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
      pipe2(err, O_CLOEXEC) != 0) {
    return Status(kErrSysLimitsFiles,
                  "cannot make pipes to the agents; raise 'ulimit -n'");
  }
  to = in[1];
  from = out[0];
  errors = err[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  // A group of its own keeps the terminal's signals for the launcher, which
  // passes on what is meant for the job.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (std::string& arg : plan.command) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const int error =
      posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  for (int fd : {in[0], out[1], err[1]}) close(fd);
  if (error != 0) {
    pid = -1;
    return Status(kErrExeNotAccessible, "cannot start '" + plan.command[0] +
                                            "': " + std::strerror(error));
  }
  fcntl(from, F_SETFL, O_NONBLOCK);
  fcntl(errors, F_SETFL, O_NONBLOCK);
  if (!WriteAll(to, Frame(plan.config))) {
    return Status(kErrLostConnection, "'" + plan.command[0] + "' ended");
  }
  return Status();
}

AgentGroup::AgentGroup() = default;

AgentGroup::~AgentGroup() { Stop(5000); }

Status AgentGroup::Start(std::vector<AgentPlan> plans) {
  for (AgentPlan& plan : plans) {
    auto member = std::make_unique<Member>();
    member->plan = std::move(plan);
    Status status = member->Spawn();
    members_.push_back(std::move(member));
    if (!status.ok()) return status;
  }
  return Status();
}

Status AgentGroup::WaitReady(int timeout_ms, const Progress& progress) {
  Status status = Exchange(timeout_ms, progress);
  if (!status.ok()) {
    for (auto& member : members_) {
      if (member->pid > 0) kill(member->pid, SIGTERM);
    }
    Stop(2000);
    return status;
  }
  for (auto& member : members_) {
    if (!member->plan.config.embedded()) member->CloseInput();
  }
  return status;
}

size_t AgentGroup::CountReady() const {
  return static_cast<size_t>(std::count_if(
      members_.begin(), members_.end(),
      [](const auto& m) { return m->phase == Member::Phase::kReady; }));
}

Status AgentGroup::Exchange(int timeout_ms, const Progress& progress) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (CountReady() < members_.size()) {
    std::vector<pollfd> polls;
    for (const auto& member : members_) {
      polls.push_back({member->from, POLLIN, 0});
      polls.push_back({member->errors, POLLIN, 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    const int n = poll(polls.data(), polls.size(),
                       static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (n < 0 && errno == EINTR) {
      return Status(kErrJobCanceled, "interrupted");
    }
    if (n <= 0) {
      for (const auto& member : members_) {
        if (member->phase == Member::Phase::kReady) continue;
        return MemberFailed(
            *member,
            "did not come up in " + std::to_string(timeout_ms / 1000) + " s");
      }
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      if (polls[2 * i + 1].revents != 0) members_[i]->DrainErrors();
      if (polls[2 * i].revents == 0) continue;
      Status status = ReadFrom(members_[i].get());
      if (!status.ok()) return status;
    }
    if (progress) progress(CountReady(), members_.size());
  }
  return Status();
}

Status AgentGroup::MemberFailed(const Member& member,
                                const std::string& what) const {
  std::string text = "agent of node '" + member.plan.config.node_name() +
                     "' (" + member.plan.command[0] + ") " + what;
  const std::string said = LastLine(member.stderr_text);
  if (!said.empty()) text += ": " + said;
  return Status(kErrUnreach, text);
}

Status AgentGroup::ReadFrom(Member* member) {
  char chunk[65536];
  ssize_t n;
  while ((n = read(member->from, chunk, sizeof chunk)) > 0) {
    member->buffer.append(chunk, static_cast<size_t>(n));
  }
  const bool ended = n == 0;
  std::string message;
  bool broken = false;
  while (TakeMessage(&member->buffer, &message, &broken)) {
    Status status = Handle(member, message);
    if (!status.ok()) return status;
  }
  if (broken) {
    return MemberFailed(*member, "does not speak the bootstrap protocol");
  }
  if (ended && member->phase != Member::Phase::kReady) {
    // Its last words may still be on the way in the other pipe.
    fcntl(member->errors, F_SETFL, 0);
    pollfd wait{member->errors, POLLIN, 0};
    if (poll(&wait, 1, 200) > 0) {
      fcntl(member->errors, F_SETFL, O_NONBLOCK);
      member->DrainErrors();
    }
    return MemberFailed(*member, "ended before it was up");
  }
  return Status();
}

Status AgentGroup::Handle(Member* member, const std::string& message) {
  if (member->phase == Member::Phase::kHello) {
    bootstrap::v1::Hello hello;
    if (!hello.ParseFromString(message)) {
      return MemberFailed(*member, "does not speak the bootstrap protocol");
    }
    if (!hello.error().empty()) {
      return MemberFailed(*member, "gave up: " + hello.error());
    }
    member->node = hello.node();
    member->phase = Member::Phase::kState;
    for (const auto& m : members_) {
      if (m->phase == Member::Phase::kHello) return Status();
    }
    return SendMembers();
  }
  bootstrap::v1::State state;
  if (!state.ParseFromString(message)) {
    return MemberFailed(*member, "does not speak the bootstrap protocol");
  }
  if (!state.error().empty()) {
    return MemberFailed(*member, "gave up: " + state.error());
  }
  if (state.ready()) member->phase = Member::Phase::kReady;
  return Status();
}

Status AgentGroup::SendMembers() {
  bootstrap::v1::Members members;
  for (const auto& member : members_) {
    *members.add_nodes() = member->node;
    nodes_.push_back(member->node);
  }
  const std::string frame = Frame(members);
  for (const auto& member : members_) {
    if (!WriteAll(member->to, frame)) {
      return MemberFailed(*member, "ended before it was up");
    }
  }
  return Status();
}

void AgentGroup::Stop(int timeout_ms) {
  for (auto& member : members_) member->CloseInput();
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto& member : members_) {
    if (member->pid <= 0) continue;
    while (waitpid(member->pid, nullptr, WNOHANG) == 0) {
      if (Clock::now() >= deadline) {
        kill(member->pid, SIGKILL);
        waitpid(member->pid, nullptr, 0);
        break;
      }
      // Wakes as soon as the agent closes its end of the pipe by exiting.
      pollfd wait{member->from, POLLIN, 0};
      char chunk[4096];
      if (poll(&wait, 1, 20) > 0 &&
          read(member->from, chunk, sizeof chunk) == 0) {
        usleep(200);
      }
      member->DrainErrors();
    }
    member->pid = -1;
  }
  members_.clear();
}

}  // namespace canopy::cli
