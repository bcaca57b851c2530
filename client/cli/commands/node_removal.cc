#include "client/cli/commands/node_removal.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <utility>

#include "client/cli/agents/agent_end.h"
#include "client/cli/agents/overlay_context.h"
#include "client/cli/commands/node_addition.h"
#include "client/cli/context/context_store.h"
#include "client/cli/control/context_target.h"

namespace canopy::cli {
namespace {

using IsRemoved = std::function<bool(const bootstrap::v1::NodeInfo&)>;

constexpr auto kEndLimit = std::chrono::seconds(10);

// Waits for the ends of the removed agents of this machine. An agent that ends
// removes its directory and frees its ports, and an agent of the same name that
// is started next needs both.
void WaitForEnds(v1::Context context, const IsRemoved& is_removed) {
  DropMembers(std::not_fn(is_removed), &context);
  const std::vector<LocalAgent> agents = LocalAgent::Of(context);
  (void)AwaitEnds(PointersTo(agents), kEndLimit);
}

// Waits until one of the members that are left leads. Until then they refuse
// the jobs of every command that reads the changed context.
Status WaitForNextLeader(const v1::Context& context) {
  Result<RootAgent> next = ConnectRoot(context);
  return next.ok() ? WaitUntilRoot(context, &*next) : next.status();
}

// Another command may have changed the file meanwhile.
Status RemoveFromContext(std::span<const std::string> nodes, int leader,
                         v1::Context* context) {
  const ContextStore store;
  Result<v1::Context> now = store.Load(context->name());
  if (!now.ok()) return now.status();
  const IsRemoved is_removed = [&](const bootstrap::v1::NodeInfo& member) {
    return std::ranges::any_of(nodes, [&](const std::string& name) {
      return member.name() == name ||
             std::ranges::count(member.aliases(), name) > 0;
    });
  };
  const bool leader_leaves =
      is_removed(now->members(0)) || is_removed(context->members(leader));
  WaitForEnds(*now, is_removed);
  RemoveDirectoriesOf(*now, is_removed);
  DropMembers(is_removed, &*now);
  const Status next = leader_leaves ? WaitForNextLeader(*now) : Status();
  const Status stored = store.Update(*now);
  *context = *std::move(now);
  return stored.ok() ? next : stored;
}

}  // namespace

Status RemoveNodes(OverlayTarget* overlay,
                   const std::vector<std::string>& names, bool force) {
  control::v1::DecideNodesRequest request;
  request.set_decision(control::v1::DecideNodesRequest::DECISION_REMOVE);
  request.set_force(force);
  request.mutable_nodes()->Add(names.begin(), names.end());
  const auto reply = overlay->root.client.DecideNodes(request);
  if (!reply.ok()) return reply.status();
  return RemoveFromContext(names, overlay->root.member, &overlay->context);
}

}  // namespace canopy::cli
