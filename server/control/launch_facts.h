// Derives from the request for a job those facts of the launch that the job's
// map does not contain.
#ifndef CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
#define CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_

#include "common/job_request.h"
#include "server/control/job_record.h"
#include "server/ports/placement_port.h"

namespace canopy::control {

// Returns the facts of the launch. They include the permissions for jobs that
// this job will spawn.
LaunchFacts FactsOf(const JobRequest& request, const Placed& placed);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
