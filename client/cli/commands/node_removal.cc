#include "client/cli/commands/node_removal.h"

#include <algorithm>
#include <span>
#include <utility>

#include "client/cli/agents/overlay_context.h"
#include "client/cli/commands/node_addition.h"
#include "client/cli/context/context_store.h"
#include "client/cli/control/context_target.h"

namespace canopy::cli {
namespace {

// Waits until the first member that is left is the root. Until then it refuses
// the jobs of every command that reads the changed context.
Status WaitForNextRoot(const v1::Context& context) {
  Result<RootAgent> next = ConnectRoot(context);
  return next.ok() ? WaitUntilRoot(context, &*next) : next.status();
}

// Another command may have changed the file meanwhile.
Status RemoveFromContext(std::span<const std::string> nodes,
                         v1::Context* context) {
  const ContextStore store;
  Result<v1::Context> now = store.Load(context->name());
  if (!now.ok()) return now.status();
  const auto is_removed = [&](const bootstrap::v1::NodeInfo& member) {
    return std::ranges::any_of(nodes, [&](const std::string& name) {
      return member.name() == name ||
             std::ranges::count(member.aliases(), name) > 0;
    });
  };
  const bool removes_root = is_removed(now->members(0));
  RemoveDirectoriesOf(*now, is_removed);
  DropMembers(is_removed, &*now);
  const Status next = removes_root ? WaitForNextRoot(*now) : Status();
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
  return RemoveFromContext(names, &overlay->context);
}

}  // namespace canopy::cli
