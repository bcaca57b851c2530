// What a job is told of its session: how much room all nodes have, and which
// other jobs run there (the Standard's session realm).
#ifndef CANOPY_HOSTMODULE_SESSION_JOBS_H_
#define CANOPY_HOSTMODULE_SESSION_JOBS_H_

#include <cstddef>
#include <vector>

#include "common/job.h"
#include "hostmodule/map_request.h"

namespace canopy::host {

// A job map names other jobs of the session as long as their ranks take no more
// than so many runs (SessionJob::Run) in all. Above that it names none, so that
// a launch does not grow with what runs already.
inline constexpr size_t kMaxSessionRuns = 16384;

// Sets JobSpec::universe_size and others of a mapped job. `nodes`: all that the
// session has now; `running`: its other jobs, no null pointers. Any thread.
void DescribeSession(const std::vector<MapNode>& nodes,
                     const std::vector<const JobSpec*>& running, JobSpec* job);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_SESSION_JOBS_H_
