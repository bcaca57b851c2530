// Converts a --map-by policy to messages of the scheduler's service.
#ifndef CANOPY_SERVER_SCHEDULER_MAPPING_H_
#define CANOPY_SERVER_SCHEDULER_MAPPING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::scheduler {

// The requirements on the nodes that follow from a mapping policy.
struct MappingNeeds {
  uint32_t slots_per_process = 1;
  uint32_t cpus_per_process = 0;  // 0: no requirement
  std::optional<uint32_t> max_procs_per_node;
  bool not_here = false;  // excludes the node of the root agent
};

// Pure functions. For a policy that the mapper does not know, the result is
// empty, because the mapper refuses the job.
hostmodule::v1::Mapping MappingOf(const std::string& map_by);
MappingNeeds NeedsOf(const std::string& map_by);
// Returns the policy in the mapper's notation, or kErrBadParam for an invalid
// message.
Result<std::string> MapByOf(const hostmodule::v1::Mapping& mapping);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_MAPPING_H_
