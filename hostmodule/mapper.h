// Makes a job map of a request. Pure: the same request gives the same map.
#ifndef CANOPY_HOSTMODULE_MAPPER_H_
#define CANOPY_HOSTMODULE_MAPPER_H_

#include <vector>

#include "common/job.h"
#include "common/status.h"
#include "hostmodule/map_request.h"

namespace canopy::host {

// `nodes`: all that may take processes, in the order of the overlay. The job's
// nodes come out in the order of their first rank.
//
// Defaults: processes fill the slots of one node after the other; they are
// bound to a core when they are at most two, to a package when they are more,
// and not at all when there are more of them than slots or CPUs, when nodes
// share a machine, or when other jobs run on a node.
//
// Errors are one line that says what to do: kErrBadParam (misspelt policy),
// kErrNotSupported, kErrNotFound (unknown host), kErrJobNoExeSpecified,
// kErrJobInsufficientResources (slots, CPUs), kErrJobFailedToMap.
Result<JobSpec> MapJob(const std::vector<MapNode>& nodes,
                       const MapRequest& request);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAPPER_H_
