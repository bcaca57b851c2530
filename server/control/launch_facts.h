// What the request for a job says of it beyond its map.
#ifndef CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
#define CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_

#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/ports/placement_port.h"

namespace canopy::control {

// Also what its launch allows for those that it will spawn.
LaunchFacts FactsOf(const v1::Launch& launch, const Placed& placed);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCH_FACTS_H_
