// The configuration of this process.
#ifndef CANOPY_CLIENT_CLI_CONFIG_THE_CONFIG_H_
#define CANOPY_CLIENT_CLI_CONFIG_THE_CONFIG_H_

#include "client/cli/config/config.h"
#include "common/status.h"

namespace canopy::cli {

// Returns the result of Config::Load(), which is called once. Any thread.
const Result<Config>& TheConfig();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONFIG_THE_CONFIG_H_
