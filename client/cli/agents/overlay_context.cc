#include "client/cli/agents/overlay_context.h"

#include <time.h>

#include <algorithm>

namespace canopy::cli {

v1::Context MakeContext(const OverlayPlan& plan,
                        const bootstrap::v1::Config& config,
                        const std::string& launch_agent) {
  v1::Context context;
  context.set_name(plan.context);
  context.set_version(1);
  context.set_created(time(nullptr));
  context.set_overlay_id(plan.overlay_id);
  context.set_cluster_key(plan.cluster_key);
  context.set_security(config.security());
  context.set_tls_ca(plan.tls_ca);
  context.set_tls_cert(plan.tls_cert);
  context.set_tls_key(plan.tls_key);
  context.set_radix(config.radix());
  context.set_emulated(plan.emulated);
  context.set_host_module(plan.host_module);
  context.set_host_module_fallback(plan.host_module_fallback);
  if (!plan.all_here()) {
    context.set_launch_agent(launch_agent.empty() ? kDefaultLaunchAgent
                                                  : launch_agent);
  }
  return context;
}

void AddMembers(const std::vector<bootstrap::v1::NodeInfo>& nodes,
                v1::Context* context) {
  for (const auto& node : nodes) {
    auto* const member = context->add_members();
    *member = node;
    member->clear_topology();
  }
}

void ReplaceMembers(const std::vector<bootstrap::v1::NodeInfo>& nodes,
                    v1::Context* context) {
  std::vector<bootstrap::v1::NodeInfo> added;
  for (const auto& node : nodes) {
    const auto known =
        std::ranges::find(*context->mutable_members(), node.name(),
                          &bootstrap::v1::NodeInfo::name);
    if (known == context->mutable_members()->end()) {
      added.push_back(node);
    } else {
      *known = node;
      known->clear_topology();
    }
  }
  AddMembers(added, context);
}

void DropMembers(
    const std::function<bool(const bootstrap::v1::NodeInfo&)>& drop,
    v1::Context* context) {
  auto* const members = context->mutable_members();
  const auto kept = std::remove_if(members->begin(), members->end(), drop);
  members->DeleteSubrange(static_cast<int>(kept - members->begin()),
                          static_cast<int>(members->end() - kept));
}

}  // namespace canopy::cli
