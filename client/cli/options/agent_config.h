// Settings of canopy.toml for agents that a command starts.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_
#define CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_

#include "client/cli/config/config.h"
#include "client/cli/options/agent_options.h"
#include "client/cli/options/up_options.h"
#include "common/status.h"

namespace canopy::cli {

// Sets the options that the command line has not set, except the launch agent:
// one of the configuration is only for hosts other than this machine.
void UseConfig(const Config& config, AgentOptions* options);

// Does the same for `canopy up`, with the hosts, unless the command line or an
// allocation names nodes. Call it before CheckUpOptions.
Status UseConfig(const Config& config, bool allocated, UpOptions* options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_AGENT_CONFIG_H_
