// Computes a job map from a request. Pure: the same request gives the same map.
#ifndef CANOPY_HOSTMODULE_MAPPER_H_
#define CANOPY_HOSTMODULE_MAPPER_H_

#include <vector>

#include "common/job.h"
#include "common/status.h"
#include "hostmodule/map_request.h"

namespace canopy::host {

// `nodes` are all nodes that may get processes, in the order of the overlay.
// The job's nodes are in the order of their first rank.
//
// Defaults: processes fill the slots of one node after the other. A job of at
// most two processes is bound to cores, a larger one to packages. No process is
// bound if there are more of them than slots or CPUs, if nodes share a machine, or
// if jobs that are not bound run on a node. No CPU that a process of another job
// is bound to is used for binding, unless overload is allowed.
//
// Errors have one line with advice: kErrBadParam (misspelt policy),
// kErrNotSupported, kErrNotFound (unknown host), kErrJobNoExeSpecified,
// kErrJobInsufficientResources (slots, CPUs), kErrJobFailedToMap.
Result<JobSpec> MapJob(const std::vector<MapNode>& nodes,
                       const MapRequest& request);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAPPER_H_
