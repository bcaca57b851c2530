// Computes the map of a job from its request. Pure: the same request gives the
// same map.
#ifndef CANOPY_HOSTMODULE_MAPPER_H_
#define CANOPY_HOSTMODULE_MAPPER_H_

#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/job_request.h"
#include "common/status.h"
#include "hostmodule/map_node.h"

namespace canopy::host {

// Returns the map of the job that `request` describes. `nodes` are all nodes
// that may get processes, in the order of the overlay. The job's nodes are in
// the order of their first rank. `local_agent` is the agent of the user's node,
// for `no_local` and relative hosts.
//
// Defaults: processes fill the slots of one node after the other. A job of at
// most two processes is bound to cores, a larger one to packages or, if these
// have too few CPUs, to NUMA nodes. No process is bound if there are more
// processes than slots or CPUs, if nodes share a machine, or if jobs that are
// not bound run on a node. A CPU to which a process of another job is bound is
// not used for binding, unless overload is allowed.
//
// Errors have one line with advice: kErrBadParam (misspelt or contradictory
// options), kErrNotSupported (an option that is not implemented, or a node that
// does not report the CPUs or objects to use), kErrNotFound (unknown host),
// kErrJobNoExeSpecified, kErrJobInsufficientResources (slots, CPUs and other
// resources), kErrJobFailedToMap (a node without the objects of the policy).
Result<JobMap> MapJob(const std::vector<MapNode>& nodes,
                      const JobRequest& request, NodeId local_agent = kNoNode);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAPPER_H_
