// What `canopy run` asks the agents to launch.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_

#include "client/cli/options/run_options.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// With this process's environment and directory.
control::v1::Launch MakeLaunch(const RunOptions& options, bool allow_root);

// What is not handed to the processes as it is must be text.
Status CheckTexts(const RunOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
