// Waits for the end of agents of this machine.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_END_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_END_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/posix/unique_fd.h"

namespace canopy::cli {

// An agent process of this machine. A pidfd identifies the process, so that no
// signal reaches another process that has got the PID since.
class LocalAgent {
 public:
  // Returns the agents of this user on this machine that belong to the context:
  // for each member, the process that listens on its control socket now, and
  // the process whose PID the context records.
  static std::vector<LocalAgent> Of(const v1::Context& context);

  const std::string& node() const { return node_; }
  // Waits for the end of the agent. Returns false if the agent is still running
  // after `timeout_ms`.
  bool WaitEnd(int timeout_ms) const;
  // Sends the agent SIGKILL.
  void Kill() const;

 private:
  LocalAgent(std::string node, UniqueFd pid_fd);
  static void Pin(const bootstrap::v1::NodeInfo& node, pid_t pid,
                  std::vector<LocalAgent>* agents);

  std::string node_;
  UniqueFd pid_fd_;
};

// Waits for the ends of the agents, for at most `limit` altogether. Returns
// those that are still running.
std::vector<const LocalAgent*> AwaitEnds(
    const std::vector<const LocalAgent*>& agents,
    std::chrono::milliseconds limit);

// Returns the addresses of the agents.
std::vector<const LocalAgent*> PointersTo(
    const std::vector<LocalAgent>& agents);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_END_H_
