// Changes a running overlay to another list of nodes.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_NODE_CHANGES_H_
#define CANOPY_CLIENT_CLI_COMMANDS_NODE_CHANGES_H_

#include <span>
#include <string>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/commands/node_addition.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/control/job_target.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

struct NodeChanges {
  std::vector<Host> to_add;
  std::vector<std::string> to_remove;

  bool empty() const { return to_add.empty() && to_remove.empty(); }
  // Returns the changes as text: "add a, b and remove c".
  std::string Text() const;
};

// Returns the changes that lead from the nodes of the context to those of
// `sites`. Nodes are compared by their names and aliases, not by their slots.
NodeChanges ChangesTo(std::span<const AgentSite> sites,
                      const v1::Context& context);

// Adds nodes, and then removes nodes. Fails like AddNodes and RemoveNodes;
// nodes that were added stay if the removal fails. `options` has everything but
// the hosts.
Status ApplyChanges(const NodeChanges& changes, NodeAdditionOptions options,
                    OverlayTarget* overlay);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_NODE_CHANGES_H_
