#include "client/cli/agents/allocation_sites.h"

namespace canopy::cli {

std::string LaunchAgentOf(const Allocation& allocation) {
  return allocation.launch_agent.empty() ? kDefaultLaunchAgent
                                         : allocation.launch_agent;
}

Result<std::vector<AgentSite>> AllocationSites(
    const Allocation& allocation, const std::string& launch_agent) {
  return HostSites(allocation.hosts, launch_agent, LaunchAgentOf(allocation),
                   allocation.launches_all);
}

}  // namespace canopy::cli
