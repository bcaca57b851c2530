// Connects a tool to the server that it wants.
#ifndef CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
#define CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_

#include "client/session/bootstrap.h"
#include "client/tool/tool_options.h"
#include "common/status.h"

namespace canopy::client {

// By the precedence of the Standard's chapter on tools: the choice that was
// made explicitly, and it alone; else the system's server, where it is to be
// tried first; else each that is found until one accepts. Repeats that as often
// as the options say, waiting in between.
//
// kErrUnreach: no server was found, or none accepts; kErrNotSupported: the one
// that was chosen is not an agent of this machine.
Result<Bootstrap> ConnectToServer(const ToolOptions& options);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_SERVER_SEARCH_H_
