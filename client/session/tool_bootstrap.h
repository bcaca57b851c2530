// Starts the session of a tool, which is in no job.
#ifndef CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_
#define CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_

#include <string>

#include "client/session/bootstrap.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// Connects to the agent at the socket `path`. `claimed` is the tool's identity;
// without a namespace the agent assigns one. The tool does not reattach when
// the agent is gone. Fails like ConnectToAgent, with kErrNoPermissions if the
// agent does not serve tools of this user, with kErrExists if another tool has
// that identity, and with kErrHandshakeFailed if the welcome is malformed.
Result<Bootstrap> ConnectTool(const std::string& path, const ProcId& claimed);

// Makes a tool without a server. Without a namespace in `claimed`, the tool is
// named after this machine and process.
Bootstrap MakeUnconnectedTool(const ProcId& claimed);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_TOOL_BOOTSTRAP_H_
