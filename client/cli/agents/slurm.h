// What a Slurm allocation says of itself in the environment.
#ifndef CANOPY_CLIENT_CLI_AGENTS_SLURM_H_
#define CANOPY_CLIENT_CLI_AGENTS_SLURM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

struct SlurmAllocation {
  std::string job_id;
  std::string node_list;       // "n[1-3,7],gpu01"
  std::string tasks_per_node;  // "4(x2),1"; empty: unknown
  std::string cpus_per_node;   // the same
};

// No value outside an allocation. `environment` is getenv or stands for it.
std::optional<SlurmAllocation> FindSlurmAllocation(
    const std::function<char*(const char*)>& environment);

// Names of "n[1-3,07-09]-x[0-1],login", in order. Leading zeros are kept. At
// most 65536 names; kErrBadParam for what is not a node list.
Result<std::vector<std::string>> ExpandNodeList(std::string_view text);

// Numbers of "4(x2),1", which is 4, 4, 1. kErrBadParam as above.
Result<std::vector<uint32_t>> ExpandCounts(std::string_view text);

// Each node of the allocation, with its tasks as slots or else its CPUs.
Result<std::vector<Host>> SlurmHosts(const SlurmAllocation& allocation);

// The command that starts something on the node {host} of the allocation, as
// part of it: it ends when the allocation does.
std::string SlurmLaunchAgent(const SlurmAllocation& allocation);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_SLURM_H_
