// Connects a tool to the server that it chooses.
#ifndef CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
#define CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_

#include <optional>
#include <vector>

#include "client/session/bootstrap.h"
#include "client/tool/tool_options.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// The chosen server, and a connection to it unless it was connected already.
struct ServerFound {
  ProcId server;
  std::optional<Bootstrap> connection;
};

// Chooses a server in the order of the Standard's chapter on tools. If a server
// was chosen explicitly, only that server is tried. Otherwise the system server
// is tried first if PMIX_CONNECT_SYSTEM_FIRST is set, and then each server
// found, until one accepts. The search is repeated as often as the options
// allow, with pauses. It skips the servers in `known`, which are connected
// already, unless one of them was chosen explicitly.
//
// Errors: kErrUnreach if no server was found; kErrNotSupported if the chosen
// server is neither an agent of this machine nor reachable by a relay on it;
// otherwise the error of the last server or rendezvous file that was tried.
Result<ServerFound> ConnectToServer(const ToolOptions& options,
                                    const std::vector<ProcId>& known);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
