// Handles the files that an agent leaves behind when it is killed.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_

#include <string>

#include "common/status.h"

namespace canopy::cli {

// Returns true if a process listens on a socket in `directory`, the runtime
// directory of an agent of this machine.
bool AgentAnswersIn(const std::string& directory);

// Removes the private directory of a dead agent of this machine with everything
// that the agent, its shims and its jobs stored there, and the parent directory
// if it is empty then. Does nothing and succeeds if the directory is not
// private to this user or is not where agents create theirs. Returns
// kErrResourceBusy while an agent or a shim uses it; otherwise the status of
// RemoveTree.
Status RemoveAgentDirectory(const std::string& directory);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_
