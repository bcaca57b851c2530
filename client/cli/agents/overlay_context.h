// The context of agents that this process starts.
#ifndef CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_
#define CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_

#include <string>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/context/context.pb.h"
#include "protos/bootstrap.pb.h"

namespace canopy::cli {

// What is known before the agents are up. `config`: that of one of them.
// `launch_agent`: as the user has given it, or empty.
v1::Context MakeContext(const OverlayPlan& plan,
                        const bootstrap::v1::Config& config,
                        const std::string& launch_agent);

// Adds the agents that are up, in the order of their numbers.
void AddMembers(const std::vector<bootstrap::v1::NodeInfo>& nodes,
                v1::Context* context);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_
