// How a tool, which is in no job, comes to a session.
#ifndef CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_
#define CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_

#include <string>

#include "client/session/bootstrap.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// Connects to the agent at the socket `path`, which must be the user's own.
// `claimed`: the tool's identity; without a namespace the agent gives it one.
// Nothing is reattached to when the agent is gone. Errors as of ConnectToAgent;
// kErrNoPermissions: the agent is another user's; kErrExists: another tool has
// that identity.
Result<Bootstrap> ConnectTool(const std::string& path, const ProcId& claimed);

// A tool without a server. `claimed` without a namespace: it is named after
// this machine and process.
Bootstrap MakeUnconnectedTool(const ProcId& claimed);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_
