// The file from which a successor restores its configuration.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_

#include <string>

#include "common/status.h"
#include "protos/bootstrap.pb.h"

namespace canopy::agent {

// Both for a runtime directory, which is private: the file holds the cluster
// key. Saving replaces the file as a whole.
Status SaveState(const std::string& directory,
                 const bootstrap::v1::AgentState& state);
// kErrNotFound when no agent has left one, kErrUnpackFailure when it is
// damaged, kErrNoPermissions when it is not this user's alone.
Result<bootstrap::v1::AgentState> LoadState(const std::string& directory);
void RemoveState(const std::string& directory);

// True while an agent serves the directory. One that is being killed may accept
// connections for a moment yet: it is given `timeout_ms` to be gone.
bool IsServed(const std::string& directory, int timeout_ms);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_AGENT_STATE_H_
