// The nodes that a batch system gave to the job that this command is part of.
#ifndef CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_H_
#define CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

struct Allocation {
  std::string job;  // "Slurm job 17"
  // In the batch system's order, the first one where the job's script runs.
  std::vector<Host> hosts;
  // Reaches a host, with {host} for its name.
  std::string launch_agent;
  // The launch agent is for this machine too, and what it started ends with the
  // allocation. Otherwise nobody but us ends what runs here.
  bool launches_all = false;
};

// Of Slurm (SLURM_JOB_ID, SLURM_JOB_NODELIST), PBS (PBS_JOBID, PBS_NODEFILE) or
// Grid Engine (PE_HOSTFILE); the first one that is there. No value outside of
// them. The status says what is wrong with what the environment names.
// `environment` is getenv or stands for it.
Result<std::optional<Allocation>> FindAllocation(
    const std::function<char*(const char*)>& environment);

// An agent for each host, reached by `launch_agent` if that is not empty.
Result<std::vector<AgentSite>> AllocationSites(const Allocation& allocation,
                                               const std::string& launch_agent);

// Lines "HOST SLOTS [QUEUE [CPUS]]" of a Grid Engine's PE_HOSTFILE. Errors name
// `file` and the line.
Result<std::vector<Host>> ParsePeHostfile(std::string_view content,
                                          const std::string& file);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_H_
