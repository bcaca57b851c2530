#include "client/cli/commands/node_changes.h"

#include <algorithm>
#include <utility>

#include "client/cli/commands/node_removal.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

bool IsMember(const AgentSite& site, const bootstrap::v1::NodeInfo& member) {
  return IsCalled(site, member.name()) ||
         std::ranges::any_of(member.aliases(), [&](const std::string& alias) {
           return IsCalled(site, alias);
         });
}

}  // namespace

std::string NodeChanges::Text() const {
  std::vector<std::string> added;
  for (const Host& host : to_add) added.push_back(host.name);
  std::string text = added.empty() ? "" : "add " + Join(added, ", ");
  if (to_remove.empty()) return text;
  return text + (text.empty() ? "" : " and ") + "remove " +
         Join(to_remove, ", ");
}

NodeChanges ChangesTo(std::span<const AgentSite> sites,
                      const v1::Context& context) {
  NodeChanges changes;
  for (const AgentSite& site : sites) {
    const bool is_there = std::ranges::any_of(
        context.members(),
        [&](const auto& member) { return IsMember(site, member); });
    if (!is_there) {
      changes.to_add.push_back({site.name, site.slots, site.slots != 0});
    }
  }
  for (const bootstrap::v1::NodeInfo& member : context.members()) {
    const bool is_wanted = std::ranges::any_of(
        sites, [&](const AgentSite& site) { return IsMember(site, member); });
    if (!is_wanted) changes.to_remove.push_back(member.name());
  }
  return changes;
}

Status ApplyChanges(const NodeChanges& changes, NodeAdditionOptions options,
                    OverlayTarget* overlay) {
  options.hosts = changes.to_add;
  if (!options.hosts.empty()) {
    const Result<NodeAddition> added = AddNodes(overlay, options);
    if (!added.ok()) return added.status();
  }
  if (changes.to_remove.empty()) return Status();
  return RemoveNodes(overlay, changes.to_remove, /*force=*/false);
}

}  // namespace canopy::cli
