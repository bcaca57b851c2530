// Creates the launch request of `canopy run`.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_

#include <vector>

#include "client/cli/options/run_options.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Uses the environment and the working directory of this process.
control::v1::Launch MakeLaunch(const RunOptions& options, bool allow_root);

// Returns the files and programs to copy to the nodes, all of which are
// readable now. Returns kErrBadParam if two have the same name or a name leads
// out of the directory; otherwise fails like ArchiveSource::Check.
Result<std::vector<preload::Item>> FilesToPreload(
    const RunOptions& options, const control::v1::Launch& launch);

// Returns kErrJobWdirNotFound if a program of the launch runs in this process's
// working directory and that directory has been removed.
Status CheckWorkingDirectory(const control::v1::Launch& launch);

// Checks that all values except those passed unchanged to the processes are
// text.
Status CheckTexts(const RunOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
