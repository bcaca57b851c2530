// The file from which a successor restores its configuration.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_

#include <string>

#include "common/status.h"
#include "protos/bootstrap.pb.h"

namespace canopy::agent {

// Saves the state in a runtime directory, which is private because the file
// contains the cluster key. Replaces the whole file. Returns kErrNotFound if
// there is no such directory, and kErrJobSysOpFailed for any other failure.
Status SaveState(const std::string& directory,
                 const bootstrap::v1::AgentState& state);
// Loads the state. Returns kErrNotFound if no agent has stored a file,
// kErrUnpackFailure if the file is damaged, kErrNoPermissions if the file
// belongs to another user or others have access, and kErrJobSysOpFailed if the
// file cannot be opened.
Result<bootstrap::v1::AgentState> LoadState(const std::string& directory);
// Removes the file, if there is one.
void RemoveState(const std::string& directory);

// Returns true while an agent serves the directory. An agent that is being
// killed may accept connections for a moment, so the call waits up to
// `timeout_ms` for the agent's end.
bool IsServed(const std::string& directory, int timeout_ms);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_
