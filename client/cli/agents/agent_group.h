// Brings up agents and holds them: the launcher's end of the bootstrap
// exchange (protos/bootstrap.proto) with every member at once.
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

// One agent to start.
struct AgentPlan {
  // Command whose standard input and output reach the agent, e.g.
  // {"ssh", "n1", "canopyd", "--bootstrap"}.
  std::vector<std::string> command;
  bootstrap::v1::Config config;
};

// Single-threaded. Destroying a group ends its embedded agents and waits for
// them; daemons that are up go on.
class AgentGroup {
 public:
  // Called when more agents have come up, and about every 100 ms.
  using Progress = std::function<void(size_t up, size_t total)>;

  AgentGroup();
  ~AgentGroup();
  AgentGroup(const AgentGroup&) = delete;
  AgentGroup& operator=(const AgentGroup&) = delete;

  // Starts the commands. They come up while the caller does other work. On a
  // failure those that were started are ended by Stop or the destructor.
  Status Start(std::vector<AgentPlan> plans);
  // Waits until the overlay is whole, at most `timeout_ms`. A failure names
  // the node, says what it said last and ends every agent. `interrupt_fd`
  // readable (-1: none) gives kErrJobCanceled.
  Status WaitReady(int timeout_ms, int interrupt_fd, const Progress& progress);

  // Valid after WaitReady succeeded; index: the member's number, 0 the root.
  const std::vector<bootstrap::v1::NodeInfo>& nodes() const { return nodes_; }

  // Ends embedded agents and waits; SIGKILL after `timeout_ms`.
  void Stop(int timeout_ms);

  // Leaves the agents to a process of their own that holds their input until
  // they end, or `until_fd` is readable (-1: none): for agents whose
  // remote-launch command must stay. That process calls `at_end`. The group is
  // empty afterwards.
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
