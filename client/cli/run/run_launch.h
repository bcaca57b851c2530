// Creates the request and the launch of `canopy run`.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_

#include <vector>

#include "client/cli/options/run_options.h"
#include "common/job_request.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Returns the request of the command line, with the environment, the working
// directory, the umask and the resource limits of this process.
JobRequest MakeRequest(const RunOptions& options);

// Returns the launch for the request; the caller adds the fields that concern
// the launcher.
control::v1::Launch MakeLaunch(const JobRequest& request, bool allow_root);

// Returns the files and programs to copy to the nodes. All of them are readable
// now. Returns kErrBadParam if two have the same name, or if a name leads out
// of the directory of the copies; otherwise fails like ArchiveSource::Check.
Result<std::vector<preload::Item>> FilesToPreload(const JobRequest& request);

// Returns kErrJobWdirNotFound if this process's working directory is gone or
// unknown and a program of the request has no absolute working directory.
Status CheckWorkingDirectory(const JobRequest& request);

// Returns kErrBadParam if a terminal is requested for the job but standard
// input is not a terminal.
Status CheckTerminal(const RunOptions& options);

// Checks that all values are UTF-8 text, except those passed unchanged to the
// processes. Returns kErrBadParam if one is not.
Status CheckTexts(const RunOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LAUNCH_H_
