// The Slurm allocation that the environment describes.
#ifndef CANOPY_COMMON_ALLOCATION_SLURM_H_
#define CANOPY_COMMON_ALLOCATION_SLURM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/hosts.h"
#include "common/status.h"

namespace canopy {

struct SlurmAllocation {
  std::string job_id;
  std::string node_list;       // "n[1-3,7],gpu01"
  std::string tasks_per_node;  // "4(x2),1"; empty: unknown
  std::string cpus_per_node;   // in the form of tasks_per_node
};

// Returns the Slurm allocation of this process, or no value outside an
// allocation. In a step of srun, the result has the nodes and tasks of the
// step. `environment` is getenv or a replacement.
std::optional<SlurmAllocation> FindSlurmAllocation(
    const std::function<char*(const char*)>& environment);

// Expands a node list such as "n[1-3,07-09]-x[0-1],login", in order and with
// leading zeros. Returns kErrBadParam for text that is not a node list, and for
// more than 65536 names.
Result<std::vector<std::string>> ExpandSlurmNodes(std::string_view text);

// Expands counts: "4(x2),1" gives 4, 4, 1. Returns kErrBadParam for text that
// is not a list of counts, and for more than 65536 counts.
Result<std::vector<uint32_t>> ExpandSlurmCounts(std::string_view text);

// Returns the nodes of the allocation. A node has as many slots as it has
// tasks, or CPUs if the tasks are unknown. A node without a count has no given
// slots (Host::slots_given). Fails like ExpandSlurmNodes and ExpandSlurmCounts.
Result<std::vector<Host>> SlurmHosts(const SlurmAllocation& allocation);

// Returns the command that starts a program on the node {host} as part of the
// allocation, so that Slurm ends it with the allocation.
std::string SlurmLaunchAgent(const SlurmAllocation& allocation);

}  // namespace canopy

#endif  // CANOPY_COMMON_ALLOCATION_SLURM_H_
