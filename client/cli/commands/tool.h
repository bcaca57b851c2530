// Commands that are tools of PMIx: done by canopy-tool, which has the library.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
#define CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// The overlay of that name, or the one that is meant without; `job` gets the
// whole name of the job that it is the end of, unless it is empty. The status
// is one line for the user.
Result<v1::Context> FindOverlay(const std::string& context, std::string* job);

// Goes on as canopy-tool with these words, at an agent of the overlay that is
// on this machine. Returns only when that is impossible: the exit code.
int ExecuteTool(const v1::Context& context, std::vector<std::string> words);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_TOOL_H_
