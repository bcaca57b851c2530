#include "client/cli/agents/agent_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "client/cli/agents/agent_process.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kProgressMs = 100;
// A remote-launch command that closed its output gets this time to end, so that
// its last error line is complete.
constexpr int kLastWordsMs = 500;

int MillisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

}  // namespace

struct AgentGroup::Member {
  enum class Phase { kHello, kState, kReady };

  AgentPlan plan;
  AgentProcess process;
  Phase phase = Phase::kHello;
  bootstrap::v1::NodeInfo node;

  // A remote command is "REMOTE-COMMAND... AGENT --bootstrap".
  bool remote() const { return plan.command.size() > 2; }
  // A remote-launch command may be a script that has child processes.
  void Signal(int number) const {
    remote() ? process.SignalGroup(number) : process.Signal(number);
  }
  std::string RemoteCommand() const {
    std::string text;
    for (size_t i = 0; i + 2 < plan.command.size(); ++i) {
      text += (i == 0 ? "" : " ") + plan.command[i];
    }
    return text;
  }
  Status Failed(const std::string& what) const {
    std::string text = "agent of node '" + plan.config.node_name() + "' (" +
                       plan.command[0] + ") " + what;
    const std::string said = process.LastErrorLine();
    if (!said.empty()) text += ": " + said;
    if (phase == Phase::kHello && remote()) {
      text += "; check that '" + RemoteCommand() + " true' works";
    }
    return Status(kErrUnreach, text);
  }
};

AgentGroup::AgentGroup() = default;

AgentGroup::~AgentGroup() { Stop(5000); }

Status AgentGroup::Start(std::vector<AgentPlan> plans) {
  for (AgentPlan& plan : plans) {
    auto member = std::make_unique<Member>();
    member->plan = std::move(plan);
    Status status = member->process.Spawn(member->plan.command);
    if (!status.ok()) {
      if (!member->remote()) return status;
      return Status(status.code(), status.message() +
                                       "; --launch-agent names the command "
                                       "that reaches a host");
    }
    members_.push_back(std::move(member));
  }
  // A command that has already ended is noticed by WaitReady.
  for (auto& member : members_) (void)member->process.Send(member->plan.config);
  return Status();
}

Status AgentGroup::WaitReady(int timeout_ms, int interrupt_fd,
                             const Progress& progress) {
  Status status = Exchange(timeout_ms, interrupt_fd, progress);
  if (!status.ok()) {
    for (auto& member : members_) member->Signal(SIGTERM);
    Stop(2000);
    return status;
  }
  for (auto& member : members_) {
    if (!member->plan.config.embedded()) member->process.CloseInput();
  }
  return status;
}

size_t AgentGroup::CountReady() const {
  return static_cast<size_t>(std::count_if(
      members_.begin(), members_.end(),
      [](const auto& m) { return m->phase == Member::Phase::kReady; }));
}

Status AgentGroup::Exchange(int timeout_ms, int interrupt_fd,
                            const Progress& progress) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (CountReady() < members_.size()) {
    std::vector<pollfd> polls = {{interrupt_fd, POLLIN, 0}};
    for (const auto& member : members_) {
      // A ready member may close its output, so it is no longer watched.
      const bool ready = member->phase == Member::Phase::kReady;
      polls.push_back({ready ? -1 : member->process.output(), POLLIN, 0});
    }
    const int left = MillisecondsUntil(deadline);
    const int n = poll(polls.data(), polls.size(),
                       progress ? std::min(left, kProgressMs) : left);
    if (n < 0 && errno != EINTR) {
      return Status(kErrJobSysOpFailed, "cannot wait for the agents");
    }
    if (polls[0].revents != 0) return Status(kErrJobCanceled, "interrupted");
    if (left == 0) return TooLate(timeout_ms);
    for (size_t i = 0; i < members_.size(); ++i) {
      if (n <= 0 || polls[i + 1].revents == 0) continue;
      Status status = ReadFrom(members_[i].get());
      if (!status.ok()) return status;
    }
    if (progress) progress(CountReady(), members_.size());
  }
  return Status();
}

Status AgentGroup::TooLate(int timeout_ms) const {
  size_t late = 0;
  const Member* first = nullptr;
  for (const auto& member : members_) {
    if (member->phase == Member::Phase::kReady) continue;
    ++late;
    // Prefer a member that reported the reason.
    if (first == nullptr || (first->process.LastErrorLine().empty() &&
                             !member->process.LastErrorLine().empty())) {
      first = member.get();
    }
  }
  std::string what =
      "did not come up in " + std::to_string(timeout_ms / 1000) + " s";
  if (late > 1) what += ", nor did " + std::to_string(late - 1) + " more";
  return first->Failed(what);
}

Status AgentGroup::ReadFrom(Member* member) {
  const bool ended = !member->process.Read();
  std::string message;
  bool broken = false;
  while (member->process.Take(&message, &broken)) {
    Status status = Handle(member, message);
    if (!status.ok()) return status;
  }
  if (broken) {
    return member->Failed("does not speak the bootstrap protocol");
  }
  if (ended && member->phase != Member::Phase::kReady) {
    (void)member->process.WaitEnd(kLastWordsMs);
    return member->Failed("ended before it was up");
  }
  return Status();
}

Status AgentGroup::Handle(Member* member, const std::string& message) {
  if (member->phase == Member::Phase::kHello) {
    bootstrap::v1::Hello hello;
    if (!hello.ParseFromString(message)) {
      return member->Failed("does not speak the bootstrap protocol");
    }
    if (!hello.error().empty()) {
      return member->Failed("gave up: " + hello.error());
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
    return member->Failed("does not speak the bootstrap protocol");
  }
  if (!state.error().empty()) {
    return member->Failed("gave up: " + state.error());
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
  for (const auto& member : members_) {
    if (!member->process.Send(members)) {
      return member->Failed("ended before it was up");
    }
  }
  return Status();
}

void AgentGroup::Stop(int timeout_ms) {
  for (auto& member : members_) member->process.CloseInput();
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto& member : members_) {
    if (member->process.WaitEnd(MillisecondsUntil(deadline))) continue;
    member->Signal(SIGKILL);
    (void)member->process.WaitEnd(-1);
  }
  members_.clear();
}

Status AgentGroup::Detach(int until_fd, const std::function<void()>& at_end) {
  const pid_t holder = fork();
  if (holder < 0) {
    return Status(kErrSysLimitsFiles, "cannot fork a holder of the agents");
  }
  if (holder > 0) {
    members_.clear();
    return Status();
  }
  setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  Hold(until_fd);
  at_end();
  _exit(0);
}

// A remote-launch command closes its output when it ends. When all have ended,
// nothing remains to be held.
void AgentGroup::Hold(int until_fd) const {
  std::vector<pollfd> polls;
  for (const auto& member : members_) {
    polls.push_back({member->process.output(), POLLIN, 0});
  }
  size_t left = polls.size();
  polls.push_back({until_fd, POLLIN, 0});
  char ignored[4096];
  while (left > 0) {
    if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
    if (polls.back().revents != 0) return;
    for (pollfd& p : std::span(polls).first(members_.size())) {
      if (p.fd < 0 || p.revents == 0) continue;
      const ssize_t n = read(p.fd, ignored, sizeof ignored);
      if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      p.fd = -1;
      --left;
    }
  }
}

}  // namespace canopy::cli
