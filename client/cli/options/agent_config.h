// Takes, from the settings of canopy.toml, the options of agents that a command
// starts.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_
#define CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_

#include "client/cli/config/config.h"
#include "client/cli/options/agent_options.h"
#include "client/cli/options/up_options.h"
#include "common/status.h"

namespace canopy::cli {

// Sets the options that the command line has not set, except the launch agent,
// because a configured launch agent is only for hosts other than this machine.
void UseConfig(const Config& config, AgentOptions* options);

// Like the other UseConfig, for `canopy up`. Also sets the restart grace, the
// limits of each user's jobs and processes, the time limit of the start and,
// unless the nodes are known otherwise, the hosts. They are known from the
// command line, from an allocation (`allocated`), or from the overlay whose
// agents are replaced. Called before CheckUpOptions. Returns kErrBadParam for
// an invalid list of hosts.
Status UseConfig(const Config& config, bool allocated, UpOptions* options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_
