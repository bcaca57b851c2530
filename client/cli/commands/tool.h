// Commands that act as PMIx tools. canopy-tool executes them, because it links
// the PMIx library.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
#define CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_

#include <string>
#include <vector>

#include "client/cli/base/json.h"
#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// Replaces this process by canopy-tool with these words, connected to the agent
// of the overlay on this machine. With `json`, canopy-tool prints a document.
// Returns only on failure, with the exit code.
int ExecuteTool(const v1::Context& context, std::vector<std::string> words,
                bool json);

// Like ExecuteTool, but canopy-tool runs as a child process, and the functions
// return its output. If it fails, the error has its message.
Result<std::string> ToolOutput(const v1::Context& context,
                               std::vector<std::string> words);
Result<Json> ToolDocument(const v1::Context& context,
                          std::vector<std::string> words);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
