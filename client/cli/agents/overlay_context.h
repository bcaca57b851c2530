// Creates the context of the agents that this process starts.
#ifndef CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_
#define CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_

#include <functional>
#include <string>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/context/context.pb.h"
#include "protos/bootstrap.pb.h"

namespace canopy::cli {

// Returns the part of the context that is known before the agents are up.
// `config` is the configuration of any of the agents. `launch_agent` is the
// user's own choice, or empty.
v1::Context MakeContext(const OverlayPlan& plan,
                        const bootstrap::v1::Config& config,
                        const std::string& launch_agent);

// Adds the agents that are up to the context, in the order of their member
// numbers.
void AddMembers(const std::vector<bootstrap::v1::NodeInfo>& nodes,
                v1::Context* context);
// Adds these agents in place of members of the same names, or at the end.
void ReplaceMembers(const std::vector<bootstrap::v1::NodeInfo>& nodes,
                    v1::Context* context);
// Removes the members for which `drop` returns true from the context.
void DropMembers(
    const std::function<bool(const bootstrap::v1::NodeInfo&)>& drop,
    v1::Context* context);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_OVERLAY_CONTEXT_H_
