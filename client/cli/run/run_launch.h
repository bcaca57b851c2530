// What `canopy run` asks the agents to launch.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_

#include <vector>

#include "client/cli/options/run_options.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// With this process's environment and directory.
control::v1::Launch MakeLaunch(const RunOptions& options, bool allow_root);

// The files and programs that are copied to the nodes, all of which can be read
// now. kErrBadParam: two have one name, or one has a name that leads out of the
// directory; otherwise as ArchiveSource::Check.
Result<std::vector<preload::Item>> FilesToPreload(
    const RunOptions& options, const control::v1::Launch& launch);

// kErrJobWdirNotFound: some program of the launch runs in this process's
// working directory, which can not be told, as it was removed.
Status CheckWorkingDirectory(const control::v1::Launch& launch);

// What is not handed to the processes as it is must be text.
Status CheckTexts(const RunOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
