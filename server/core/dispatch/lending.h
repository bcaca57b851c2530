// Sends the maps of the jobs that this agent controls to the root and to the
// leader.
#ifndef CANOPY_SERVER_CORE_DISPATCH_LENDING_H_
#define CANOPY_SERVER_CORE_DISPATCH_LENDING_H_

#include <string>

#include "server/core/dispatch/engines.h"

namespace canopy::core {

// The root has to know every job, because it answers which jobs exist. The
// leader has to know every job, because it maps new jobs onto the same nodes.
// An agent that controls jobs and is neither of them, or only one of them,
// therefore sends the maps of its jobs to the others: at the start of a job,
// when the leader changes, and when messages may have been lost.

// Sends the map of one job. Does nothing unless this agent controls the job.
void LendJob(Engines& e, const std::string& nspace);
// Sends the maps of all jobs that this agent controls.
void LendJobs(Engines& e);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_LENDING_H_
