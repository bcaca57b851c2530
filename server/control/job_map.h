// The placement of a job's processes, for the replies to `canopy run` and
// `canopy ps`.
#ifndef CANOPY_SERVER_CONTROL_JOB_MAP_H_
#define CANOPY_SERVER_CONTROL_JOB_MAP_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "common/ids.h"
#include "common/job.h"
#include "common/topology.h"
#include "protos/control.pb.h"

namespace canopy::control {

// Adds the job's nodes to `nodes`, in the job's order, each with its slots and
// processes.
void FillJobMap(const JobSpec& job,
                google::protobuf::RepeatedPtrField<v1::MapNode>* nodes);

// The limit for all topologies of one map together.
inline constexpr size_t kMaxTopologyBytes = size_t{1} << 20;

// Adds to a job's map the distinct topologies of the job's nodes, with the
// memory in whole GiB, and for each node the number of its topology. A node has
// none if kMaxTopologyBytes is reached, or if `topology` returns null for its
// agent.
void AddTopologies(
    const JobSpec& job,
    const std::function<std::shared_ptr<const Topology>(NodeId agent)>&
        topology,
    v1::JobMapped* mapped);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MAP_H_
