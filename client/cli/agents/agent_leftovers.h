// What an agent that was killed has left in the file system.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_

#include <string>

#include "common/status.h"

namespace canopy::cli {

// Whether a process listens on a socket in `directory`, the runtime directory
// of an agent of this machine.
bool AgentAnswersIn(const std::string& directory);

// Removes the private directory of an agent of this machine that is gone, with
// what it, its shims and its jobs had there, and the directory above when this
// was the last one in it. One that is not private to this user, or not where
// agents make their own, is left as it is, with success. kErrResourceBusy: an
// agent or a shim is still there.
Status RemoveAgentDirectory(const std::string& directory);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_LEFTOVERS_H_
