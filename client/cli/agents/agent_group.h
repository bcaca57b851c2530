// Starts the agents of an overlay and keeps the connections to them: the
// launcher's side of the bootstrap exchange (protos/bootstrap.proto) with all
// members.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/agents/bring_up_report.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"

namespace canopy::cli {

// Describes one agent to start.
struct AgentPlan {
  // The command connects its standard input and output with the agent's, for
  // example {"ssh", "n1", "canopyd", "--bootstrap"}.
  std::vector<std::string> command;
  bootstrap::v1::Config config;
};

// Used by one thread. The destructor ends the group's embedded agents and waits
// for them; daemons that are up continue.
class AgentGroup {
 public:
  // Called about every 100 ms with a line for the user.
  using Progress = std::function<void(const std::string& line)>;

  AgentGroup();
  ~AgentGroup();
  AgentGroup(const AgentGroup&) = delete;
  AgentGroup& operator=(const AgentGroup&) = delete;

  // Starts the commands and returns; the agents come up while the caller does
  // other work. After a failure, Stop or the destructor ends the commands that
  // were started.
  Status Start(std::vector<AgentPlan> plans);
  // Returns the members for new agents, whose descriptions are given; an error
  // ends them.
  using MembersOf = std::function<Result<bootstrap::v1::Members>(
      const std::vector<bootstrap::v1::NodeInfo>& nodes)>;
  // Makes the agents join a running overlay, whose members the function
  // returns. Without this call, the agents are all members.
  void JoinRunning(MembersOf members) { members_of_ = std::move(members); }
  // Lets WaitReady continue once without the agents that have failed, or have
  // not answered, after half of `timeout_ms`, if at least one agent has
  // answered. An agent that fails later makes WaitReady fail.
  void AllowMissing() { allow_missing_ = true; }
  // Waits until all agents are connected in the overlay, for at most
  // `timeout_ms`. A failure ends every agent. The error kErrUnreach names the
  // nodes that have not answered and the nodes that wait for them, and quotes
  // each cause. Returns kErrJobCanceled when `interrupt_fd` (-1: none) becomes
  // readable.
  Status WaitReady(int timeout_ms, int interrupt_fd, const Progress& progress);

  // Valid after WaitReady succeeded. The nodes are in the order of the plans,
  // which is the order of the members' numbers.
  const std::vector<bootstrap::v1::NodeInfo>& nodes() const { return nodes_; }
  // Returns one line that names the agents that WaitReady left out
  // (AllowMissing); empty if it left out none.
  const std::string& missing() const { return missing_; }

  // Ends embedded agents and waits for them. An agent that still runs after
  // `timeout_ms` gets SIGKILL.
  void Stop(int timeout_ms);

  // Forks a process that keeps the agents' input open until all of them end or
  // `until_fd` (-1: none) becomes readable, and then calls `at_end` and exits.
  // Needed for agents whose remote-launch command must keep running. The group
  // of the caller is empty afterwards. Returns kErrSysLimitsFiles if the fork
  // fails.
  Status Detach(int until_fd, const std::function<void()>& at_end);

 private:
  struct Member;
  using Members = std::vector<std::unique_ptr<Member>>;
  using Clock = std::chrono::steady_clock;

  Status Exchange(int interrupt_fd, const Progress& progress);
  // Waits until output has arrived or `timeout_ms` has passed, and reads it.
  // Returns kErrJobCanceled if `interrupt_fd` is readable.
  Status ReadOutput(int interrupt_fd, int timeout_ms);
  void ReadFrom(Member* member);
  void Handle(Member* member, const std::string& message);
  // Takes the next step when the agents have answered or are late.
  Status Settle();
  Status SendMembers();
  Status ContinueWithoutMissing();
  void Renumber();
  Status Failure() const;
  std::vector<AgentReport> Reports() const;
  size_t Count(AgentReport::State state) const;
  Clock::time_point Due() const;
  int SecondsPassed() const;
  static void End(Members* members, int timeout_ms);
  void Hold(int until_fd) const;

  Members members_;
  std::vector<bootstrap::v1::NodeInfo> nodes_;
  MembersOf members_of_;
  bool allow_missing_ = false;
  bool members_sent_ = false;
  std::string missing_;
  Clock::time_point begin_;
  // The time at which WaitReady stops waiting for the first answers.
  Clock::time_point answers_due_;
  Clock::time_point deadline_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_
