// The agents on the nodes of a batch system's allocation.
#ifndef CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_SITES_H_
#define CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_SITES_H_

#include <string>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "common/allocation/allocation.h"
#include "common/status.h"

namespace canopy::cli {

// Returns the command that reaches the hosts of the allocation.
std::string LaunchAgentOf(const Allocation& allocation);

// Returns one agent for each host of the allocation. A `launch_agent` that is
// not empty replaces the allocation's. Fails like HostSites.
Result<std::vector<AgentSite>> AllocationSites(const Allocation& allocation,
                                               const std::string& launch_agent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_ALLOCATION_SITES_H_
