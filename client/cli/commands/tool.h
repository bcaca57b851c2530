// Commands that act as PMIx tools. canopy-tool executes them, because it links
// the PMIx library.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
#define CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"

namespace canopy::cli {

// Replaces this process by canopy-tool with these words, connected to the agent
// of the overlay on this machine. Returns only on failure, with the exit code.
int ExecuteTool(const v1::Context& context, std::vector<std::string> words);

// Like ExecuteTool, in a child process: waits for its end, prints its output
// and returns its exit code.
int RunTool(const v1::Context& context, std::vector<std::string> words);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
