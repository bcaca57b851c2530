// Derives the facts of a job's launch that the job's map does not contain from
// the job's request.
#ifndef CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
#define CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_

#include "common/job_request.h"
#include "server/control/job_record.h"
#include "server/ports/placement_port.h"

namespace canopy::control {

// Returns the facts. They include the permissions for jobs that this job will
// spawn.
LaunchFacts FactsOf(const JobRequest& request, const Placed& placed);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
