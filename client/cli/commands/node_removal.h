// Removes nodes from a running overlay: ends their agents, and forgets them.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_NODE_REMOVAL_H_
#define CANOPY_CLIENT_CLI_COMMANDS_NODE_REMOVAL_H_

#include <string>
#include <vector>

#include "client/cli/control/job_target.h"
#include "common/status.h"

namespace canopy::cli {

// Removes the nodes of these names or aliases from the overlay, and then from
// the context and its file. Waits up to 10 s for the ends of the agents on this
// machine, and, if the root is removed, until the next node is the root. With
// `force`, also removes nodes that are used by jobs. Returns the errors of
// Control.DecideNodes and of ContextStore::Update, and kErrUnreach if the next
// node does not become the root.
Status RemoveNodes(OverlayTarget* overlay,
                   const std::vector<std::string>& names, bool force);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_NODE_REMOVAL_H_
