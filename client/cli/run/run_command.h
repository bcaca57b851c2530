// Implements `canopy run`.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_COMMAND_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_COMMAND_H_

#include <optional>
#include <string>

#include "client/cli/base/command.h"
#include "client/cli/control/remote_agents.h"
#include "client/cli/options/run_options.h"

namespace canopy::cli {

// Runs a job and returns the exit code of the process. If `remote` is null,
// only a job that an agent of this machine accepts can be run; for any other
// job RunCommand returns no value, and has changed and printed nothing.
std::optional<int> RunCommand(const CommandLine& line, RemoteAgents* remote);

// Runs a job as `options` describe and returns the exit code. `program` is the
// name by which the command was called.
int RunOnAgents(const RunOptions& options, const std::string& program,
                RemoteAgents* remote);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_COMMAND_H_
