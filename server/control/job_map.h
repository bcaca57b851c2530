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

// The topologies of a map have no more bytes together.
inline constexpr size_t kMaxTopologyBytes = size_t{1} << 20;

// Adds the distinct topologies of the job's nodes to its map, with the memory
// in whole GiB, and which of them each node has. Nodes have none if
// kMaxTopologyBytes is reached, or if `topology` returns null for their agent.
void AddTopologies(
    const JobSpec& job,
    const std::function<std::shared_ptr<const Topology>(NodeId agent)>&
        topology,
    v1::JobMapped* mapped);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MAP_H_
