// How a job ends, as its controller tells it by PMIX_EVENT_JOB_END.
#ifndef CANOPY_CLIENT_TOOLS_JOB_END_H_
#define CANOPY_CLIENT_TOOLS_JOB_END_H_

#include <chrono>
#include <optional>
#include <string>

#include "pmix_tool.h"

namespace canopy::tools {

// From now on the end of that job is noted, whose namespace it is; of one job
// in a process, as a handler of events has no argument. PMIX_SUCCESS, or why
// nobody will tell.
pmix_status_t WatchEnd(const std::string& nspace);

// What `canopy run` would have ended with: waits for the end at most so long.
std::optional<int> AwaitEnd(std::chrono::milliseconds most);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_JOB_END_H_
