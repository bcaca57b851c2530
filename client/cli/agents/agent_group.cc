#include "client/cli/agents/agent_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>

#include "client/cli/agents/agent_process.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

using State = AgentReport::State;

constexpr int kProgressMs = 100;
// A remote-launch command that has closed its output gets this time to end, so
// that its last error line is complete.
constexpr int kLastWordsMs = 500;
// After a failure, the other agents get this time to answer or to fail, so that
// the error names all hosts with the same fault.
constexpr std::chrono::seconds kOthersAfterFailure{2};
// Commands that are no longer needed get this time to end.
constexpr int kEndMs = 2000;

int MillisecondsUntil(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

}  // namespace

struct AgentGroup::Member {
  enum class Phase { kHello, kState, kReady };

  AgentPlan plan;
  AgentProcess process;
  Phase phase = Phase::kHello;
  bootstrap::v1::NodeInfo node;
  std::string failure;  // reason why the agent does not come up; empty: none

  // Returns true if the command is remote: "REMOTE-COMMAND... AGENT
  // --bootstrap".
  bool remote() const { return plan.command.size() > 2; }
  // A remote-launch command may be a script that has child processes.
  void Signal(int number) const {
    remote() ? process.SignalGroup(number) : process.Signal(number);
  }
  std::string RemoteCommand() const {
    const auto words = std::span(plan.command);
    return remote() ? Join(words.first(words.size() - 2), " ") : "";
  }
  State state() const {
    if (!failure.empty()) return State::kFailed;
    if (phase == Phase::kReady) return State::kUp;
    return phase == Phase::kState ? State::kAnswered : State::kSilent;
  }
  // Records the reason why the agent does not come up, with its last error
  // line.
  void Fail(const std::string& what) {
    const std::string said = process.LastErrorLine();
    failure = said.empty() ? what : what + ": " + said;
  }
  AgentReport Report() const {
    AgentReport report;
    report.node = plan.config.node_name();
    report.state = state();
    report.cause = failure.empty() ? process.LastErrorLine() : failure;
    report.remote_command = RemoteCommand();
    report.program = *(plan.command.end() - 2);
    return report;
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
  // Send fails if the command has already ended; WaitReady reports this.
  for (auto& member : members_) (void)member->process.Send(member->plan.config);
  return Status();
}

Status AgentGroup::WaitReady(int timeout_ms, int interrupt_fd,
                             const Progress& progress) {
  const std::chrono::milliseconds time(timeout_ms);
  begin_ = Clock::now();
  deadline_ = begin_ + time;
  answers_due_ = allow_missing_ ? begin_ + time / 2 : deadline_;
  Status status = Exchange(interrupt_fd, progress);
  if (!status.ok()) {
    for (auto& member : members_) member->Signal(SIGTERM);
    Stop(kEndMs);
    return status;
  }
  for (auto& member : members_) {
    if (!member->plan.config.embedded()) member->process.CloseInput();
  }
  return status;
}

size_t AgentGroup::Count(State state) const {
  return static_cast<size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [state](const auto& m) { return m->state() == state; }));
}

AgentGroup::Clock::time_point AgentGroup::Due() const {
  return members_sent_ ? deadline_ : answers_due_;
}

int AgentGroup::SecondsPassed() const {
  const auto passed = Clock::now() - begin_;
  return static_cast<int>(
      std::chrono::round<std::chrono::seconds>(passed).count());
}

std::vector<AgentReport> AgentGroup::Reports() const {
  std::vector<AgentReport> reports;
  for (const auto& member : members_) reports.push_back(member->Report());
  return reports;
}

Status AgentGroup::Failure() const {
  return Status(kErrUnreach, BringUpError(Reports(), SecondsPassed()));
}

Status AgentGroup::Exchange(int interrupt_fd, const Progress& progress) {
  auto next_progress = begin_;
  while (Count(State::kUp) < members_.size()) {
    const int left = MillisecondsUntil(Due());
    Status status =
        ReadOutput(interrupt_fd, progress ? std::min(left, kProgressMs) : left);
    if (status.ok()) status = Settle();
    if (!status.ok()) return status;
    if (!progress || Clock::now() < next_progress) continue;
    progress(BringUpProgress(Reports()));
    next_progress = Clock::now() + std::chrono::milliseconds(kProgressMs);
  }
  return Status();
}

Status AgentGroup::ReadOutput(int interrupt_fd, int timeout_ms) {
  std::vector<pollfd> polls = {{interrupt_fd, POLLIN, 0}};
  for (const auto& member : members_) {
    // The output of an agent that is up, or has failed, is not polled, because
    // the agent may have closed it.
    const State state = member->state();
    const bool done = state == State::kUp || state == State::kFailed;
    polls.push_back({done ? -1 : member->process.output(), POLLIN, 0});
  }
  const int n = poll(polls.data(), polls.size(), timeout_ms);
  if (n < 0 && errno != EINTR) {
    return Status(kErrJobSysOpFailed, "cannot wait for the agents");
  }
  if (polls[0].revents != 0) return Status(kErrJobCanceled, "interrupted");
  for (size_t i = 0; n > 0 && i < members_.size(); ++i) {
    if (polls[i + 1].revents != 0) ReadFrom(members_[i].get());
  }
  return Status();
}

void AgentGroup::ReadFrom(Member* member) {
  const bool ended = !member->process.Read();
  std::string message;
  bool broken = false;
  while (member->failure.empty() && member->process.Take(&message, &broken)) {
    Handle(member, message);
  }
  if (broken) {
    member->Fail("does not speak the bootstrap protocol");
  } else if (ended && member->failure.empty() &&
             member->state() != State::kUp) {
    (void)member->process.WaitEnd(kLastWordsMs);
    member->Fail("ended before it was up");
  }
  if (member->failure.empty() || allow_missing_) return;
  answers_due_ = std::min(answers_due_, Clock::now() + kOthersAfterFailure);
}

void AgentGroup::Handle(Member* member, const std::string& message) {
  bootstrap::v1::Hello hello;
  bootstrap::v1::State state;
  const bool first = member->phase == Member::Phase::kHello;
  if (!(first ? hello.ParseFromString(message)
              : state.ParseFromString(message))) {
    return member->Fail("does not speak the bootstrap protocol");
  }
  const std::string& error = first ? hello.error() : state.error();
  if (!error.empty()) return member->Fail("gave up: " + error);
  if (first) {
    member->node = hello.node();
    member->phase = Member::Phase::kState;
  } else if (state.ready()) {
    member->phase = Member::Phase::kReady;
  }
}

Status AgentGroup::Settle() {
  const bool late = Clock::now() >= Due();
  const size_t silent = Count(State::kSilent);
  if (silent > 0 && !late) return Status();
  if (silent == 0 && Count(State::kFailed) == 0) {
    if (!members_sent_) return SendMembers();
    const bool up = Count(State::kUp) == members_.size();
    return late && !up ? Failure() : Status();
  }
  const bool first = allow_missing_ && !members_sent_ && missing_.empty();
  return first && Count(State::kAnswered) > 0 ? ContinueWithoutMissing()
                                              : Failure();
}

Status AgentGroup::SendMembers() {
  members_sent_ = true;
  bootstrap::v1::Members members;
  for (const auto& member : members_) {
    *members.add_nodes() = member->node;
    nodes_.push_back(member->node);
  }
  if (members_of_) {
    Result<bootstrap::v1::Members> all = members_of_(nodes_);
    if (!all.ok()) return all.status();
    members = *std::move(all);
  }
  for (const auto& member : members_) {
    if (member->process.Send(members)) continue;
    member->Fail("ended before it was up");
    return Failure();
  }
  return Status();
}

Status AgentGroup::ContinueWithoutMissing() {
  missing_ = MissingText(Reports(), SecondsPassed());
  const auto rest = std::stable_partition(
      members_.begin(), members_.end(),
      [](const auto& m) { return m->state() == State::kAnswered; });
  Members missing(std::make_move_iterator(rest),
                  std::make_move_iterator(members_.end()));
  members_.erase(rest, members_.end());
  Renumber();
  answers_due_ = deadline_;
  for (auto& member : missing) member->Signal(SIGTERM);
  End(&missing, kEndMs);
  return Status();
}

// Each agent's configuration contains the names and numbers of the members, so
// each agent gets a new configuration.
void AgentGroup::Renumber() {
  bootstrap::v1::Config shared;
  for (const auto& member : members_) {
    shared.add_member_names(member->plan.config.node_name());
  }
  for (size_t i = 0; i < members_.size(); ++i) {
    bootstrap::v1::Config* const config = &members_[i]->plan.config;
    *config->mutable_member_names() = shared.member_names();
    config->set_self(static_cast<uint32_t>(i));
    bootstrap::v1::Members message;
    *message.mutable_config() = *config;
    members_[i]->phase = Member::Phase::kHello;
    if (members_[i]->process.Send(message)) continue;
    members_[i]->Fail("ended before it was up");
  }
}

void AgentGroup::End(Members* members, int timeout_ms) {
  for (auto& member : *members) member->process.CloseInput();
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto& member : *members) {
    if (member->process.WaitEnd(MillisecondsUntil(deadline))) continue;
    member->Signal(SIGKILL);
    (void)member->process.WaitEnd(-1);
  }
  members->clear();
}

void AgentGroup::Stop(int timeout_ms) { End(&members_, timeout_ms); }

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

// A remote-launch command closes its output when it ends. After the end of all
// commands, no input has to be kept open.
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
