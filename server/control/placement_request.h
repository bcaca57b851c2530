// What the host is told of a job that is to be placed, and of one that was.
#ifndef CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_
#define CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_

#include <cstdint>
#include <string>

#include "common/job.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"
#include "server/ports/job_commands_port.h"
#include "server/ports/placement_port.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// Milliseconds since 1970.
int64_t WallClockMs();

// Of the request's identity and time, nothing is set.
PlacementRequest PlacementOf(const v1::Launch& launch);
// `parent`: of the job whose process spawns.
PlacementRequest PlacementOf(const core::HostSpawn& spawn,
                             const spawn::SpawnCall& call,
                             const JobRecord& parent);
// Of a job that nobody waits for.
v1::Launch LaunchOf(const HostLaunch& launch);
// The same request always has the same name: also after an agent's restart.
std::string RequestNameOf(const core::HostSpawn& spawn);

// Whether `name` may be what an agent has called a queued job.
bool IsRequestName(const std::string& name);

// Of a job that is mapped now; empty when no nodes were granted by name.
PlacementFacts PlacementFactsOf(const Placed& placed);

// A job that was mapped, or whose request came to nothing.
PlacedJob PlacedJobOf(const JobRecord& record);
PlacedJob PlacedJobOf(const Placed& placed, const PlacementRequest& request);

// Programs and arguments, for people.
std::string CommandOf(const JobSpec& job);
std::string CommandOf(const PlacementRequest& request);
uint32_t NumProcs(const PlacementRequest& request);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PLACEMENT_REQUEST_H_
