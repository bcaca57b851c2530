// Connects a tool to the server that it wants.
#ifndef CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
#define CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_

#include <optional>
#include <vector>

#include "client/session/bootstrap.h"
#include "client/tool/tool_options.h"
#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// The server that was chosen, and a connection to it unless there is one.
struct ServerFound {
  ProcId server;
  std::optional<Bootstrap> connection;
};

// By the precedence of the Standard's chapter on tools: the choice that was
// made explicitly, and it alone; else the system's server, where it is to be
// tried first; else each that is found until one accepts. Repeats that as often
// as the options say, waiting in between. `known` are connected already: they
// are passed over, unless one was chosen explicitly.
//
// kErrUnreach: no server was found, or none accepts; kErrNotSupported: the one
// that was chosen is neither an agent of this machine nor one to which a relay
// here leads.
Result<ServerFound> ConnectToServer(const ToolOptions& options,
                                    const std::vector<ProcId>& known);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
