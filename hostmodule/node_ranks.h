// Numbers of a process among the processes of all jobs on its node (the
// Standard's reserved keys PMIX_NODE_RANK and PMIX_NODE_SIZE).
#ifndef CANOPY_HOSTMODULE_NODE_RANKS_H_
#define CANOPY_HOSTMODULE_NODE_RANKS_H_

#include <vector>

#include "common/job.h"

namespace canopy::host {

// Sets JobNode::first_node_rank and other_procs of the nodes of a mapped job.
// On each node, the job's ranks get the lowest consecutive numbers that no
// process of the jobs in `running` has there; null pointers are not allowed.
// Any thread.
void NumberOnNodes(const std::vector<const JobSpec*>& running, JobSpec* job);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_NODE_RANKS_H_
