// Information in a job map about its session: the slots of all nodes, and the
// other jobs that run there (the Standard's session realm).
#ifndef CANOPY_HOSTMODULE_SESSION_JOBS_H_
#define CANOPY_HOSTMODULE_SESSION_JOBS_H_

#include <cstddef>
#include <vector>

#include "common/job.h"
#include "hostmodule/map_node.h"

namespace canopy::host {

// A job map names other jobs of the session if their ranks form at most this
// many runs (SessionJob::Run) in total. Above this limit it names none, so that
// the size of a launch does not grow with the running jobs.
inline constexpr size_t kMaxSessionRuns = 16384;

// Sets JobSpec::universe_size and JobSpec::others of a mapped job. `nodes` are
// all nodes of the session now; `running` are its other jobs, without null
// pointers. Any thread.
void DescribeSession(const std::vector<MapNode>& nodes,
                     const std::vector<const JobSpec*>& running, JobSpec* job);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_SESSION_JOBS_H_
