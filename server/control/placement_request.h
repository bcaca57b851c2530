// The messages to the host about a job that is to be placed, or was placed.
#ifndef CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_
#define CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_

#include <cstdint>
#include <string>

#include "common/job.h"
#include "common/job_request.h"
#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"
#include "server/ports/placement_port.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// Returns the time in milliseconds since 1970.
int64_t WallClockMs();

// Returns the request for a launcher's job, without its identity and time.
PlacementRequest PlacementOf(const JobRequest& job, const Caller& caller);
// Returns the request for a job to be spawned. `parent` is the job of the
// spawning process.
PlacementRequest PlacementOf(const core::HostSpawn& spawn,
                             const spawn::SpawnCall& call,
                             const JobRecord& parent);
// Returns the name of a request. The same request always has the same name,
// also after an agent's restart.
std::string RequestNameOf(const core::HostSpawn& spawn);

// Returns true if an agent may have given a queued job this name.
bool IsRequestName(const std::string& name);

// Returns the facts of a job that is mapped now. They are empty if the grant
// does not list nodes.
PlacementFacts PlacementFactsOf(const Placed& placed);

// Return the description of a job that was mapped, or of one whose request has
// failed.
PlacedJob PlacedJobOf(const JobRecord& record);
PlacedJob PlacedJobOf(const Placed& placed, const PlacementRequest& request);

// Return the programs and their arguments as text for people.
std::string CommandOf(const JobSpec& job);
std::string CommandOf(const PlacementRequest& request);
// Returns the number of processes that the applications request together.
uint32_t NumProcs(const PlacementRequest& request);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_
