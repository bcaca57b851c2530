// Brings up agents and holds them: the launcher's end of the bootstrap exchange
// (protos/bootstrap.proto) with all members at once.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "protos/bootstrap.pb.h"

namespace canopy::cli {

// Describes one agent to start.
struct AgentPlan {
  // Command that connects its standard input and output with the agent's, e.g.
  // {"ssh", "n1", "canopyd", "--bootstrap"}.
  std::vector<std::string> command;
  bootstrap::v1::Config config;
};

// Single-threaded. Destroying a group ends its embedded agents and waits for
// them; daemons that are up continue.
class AgentGroup {
 public:
  // Called when more agents have come up, and about every 100 ms.
  using Progress = std::function<void(size_t up, size_t total)>;

  AgentGroup();
  ~AgentGroup();
  AgentGroup(const AgentGroup&) = delete;
  AgentGroup& operator=(const AgentGroup&) = delete;

  // Starts the commands and returns; the agents come up while the caller does
  // other work. After a failure, Stop or the destructor ends the commands that
  // were started.
  Status Start(std::vector<AgentPlan> plans);
  // Waits until all agents are connected in the overlay, for at most
  // `timeout_ms`. A failure names the node, quotes its last error line and ends
  // every agent. Returns kErrJobCanceled when `interrupt_fd` (-1: none) becomes
  // readable.
  Status WaitReady(int timeout_ms, int interrupt_fd, const Progress& progress);

  // Valid after WaitReady succeeded. The index is the member's number; the root
  // is member 0.
  const std::vector<bootstrap::v1::NodeInfo>& nodes() const { return nodes_; }

  // Ends embedded agents and waits for them; after `timeout_ms` they are sent
  // SIGKILL.
  void Stop(int timeout_ms);

  // Leaves the agents to a forked process that holds their input until they end
  // or `until_fd` (-1: none) becomes readable. Needed for agents whose
  // remote-launch command must keep running. The forked process calls `at_end`
  // last. The group is empty afterwards.
  Status Detach(int until_fd, const std::function<void()>& at_end);

 private:
  struct Member;

  Status Exchange(int timeout_ms, int interrupt_fd, const Progress& progress);
  Status ReadFrom(Member* member);
  Status Handle(Member* member, const std::string& message);
  Status SendMembers();
  Status TooLate(int timeout_ms) const;
  size_t CountReady() const;
  void Hold(int until_fd) const;

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<bootstrap::v1::NodeInfo> nodes_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_GROUP_H_
