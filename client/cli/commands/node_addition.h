// Adds nodes to a running overlay: makes them members, and starts their agents.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_NODE_ADDITION_H_
#define CANOPY_CLIENT_CLI_COMMANDS_NODE_ADDITION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/job_target.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

struct NodeAdditionOptions {
  std::vector<Host> hosts;
  std::string launch_agent;  // empty: that of the context
  std::string listen;        // empty: like the agents that are up
  uint32_t timeout_seconds = 60;
  bool quiet = false;
};

struct NodeAddition {
  std::vector<std::string> added;   // names of the nodes that have an agent now
  std::vector<std::string> was_up;  // names of the nodes that had one before
};

// Removes the directories that dead agents of these members have left on this
// machine. An agent that still runs removes its own directory.
void RemoveDirectoriesOf(
    const v1::Context& context,
    const std::function<bool(const bootstrap::v1::NodeInfo&)>& is_gone);

// Starts an agent on each host that has none, and adds the nodes to the context
// and its file. If an agent does not come up, none of the new nodes stays a
// member. Returns the errors of Control.AddNodes and of AgentGroup::WaitReady,
// and kErrBadParam for a host that the running agents cannot reach.
Result<NodeAddition> AddNodes(OverlayTarget* overlay,
                              const NodeAdditionOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_NODE_ADDITION_H_
