// Commands that are tools of PMIx: done by canopy-tool, which has the library.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
#define CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"

namespace canopy::cli {

// Goes on as canopy-tool with these words, at an agent of the overlay that is
// on this machine. Returns only when that is impossible: the exit code.
int ExecuteTool(const v1::Context& context, std::vector<std::string> words);

// The same in a process of its own: waits for its end, prints its output and
// returns its exit code.
int RunTool(const v1::Context& context, std::vector<std::string> words);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
