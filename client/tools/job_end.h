// The end of a job, as its controller reports it with PMIX_EVENT_JOB_END.
#ifndef CANOPY_CLIENT_TOOLS_JOB_END_H_
#define CANOPY_CLIENT_TOOLS_JOB_END_H_

#include <chrono>
#include <optional>
#include <string>

#include "pmix_tool.h"

namespace canopy::tools {

// Starts to watch for the end of the job `nspace`. A process can watch only one
// job, because an event handler has no argument for user data. Returns
// PMIX_SUCCESS, or the status with which the registration failed.
pmix_status_t WatchEnd(const std::string& nspace);

// Waits for the end, at most for `most`. Returns the exit code that `canopy
// run` would have. Returns no value if the job has not ended.
std::optional<int> AwaitEnd(std::chrono::milliseconds most);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_JOB_END_H_
