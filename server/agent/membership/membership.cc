#include "server/agent/membership/membership.h"

#include <algorithm>

#include "common/event_loop.h"
#include "common/string_util.h"
#include "common/text.h"
#include "common/version.h"

namespace canopy::agent {

Membership::Membership(const bootstrap::v1::Config& config)
    : tree_(static_cast<uint32_t>(std::max(config.member_names_size(), 1)),
            std::max(config.radix(), 2u)),
      since_(EventLoop::Now()) {
  for (const std::string& name : config.member_names()) {
    entries_.emplace_back().info.set_name(name);
  }
}

void Membership::Set(const bootstrap::v1::Members& members) {
  for (int i = 0; i < members.nodes_size(); ++i) {
    if (static_cast<size_t>(i) < entries_.size()) {
      entries_[static_cast<size_t>(i)].info = members.nodes(i);
    }
  }
}

void Membership::OnNodeStateChanged(const core::NodeStateChanged& change) {
  if (change.node >= entries_.size()) return;
  tree_.SetAlive(change.node, change.up);
  entries_[change.node].down_reason = change.up ? "" : change.reason;
}

std::string Membership::Name(NodeId node) const {
  return node < entries_.size() ? entries_[node].info.name()
                                : "member " + std::to_string(node);
}

Status Membership::Drain(const std::string& name, const std::string& reason) {
  const auto entry = std::ranges::find_if(
      entries_, [&](const Entry& e) { return e.info.name() == name; });
  if (entry == entries_.end()) {
    return {kErrNotFound, "there is no node '" + name + "'"};
  }
  entry->drained = reason;
  return {};
}

std::string Membership::LostNode(const std::string& name) const {
  for (NodeId i = 0; i < entries_.size(); ++i) {
    const auto& aliases = entries_[i].info.aliases();
    if (!tree_.alive(i) && (entries_[i].info.name() == name ||
                            std::ranges::count(aliases, name) > 0)) {
      return entries_[i].down_reason.empty() ? "its agent is lost"
                                             : entries_[i].down_reason;
    }
  }
  return "";
}

std::string Membership::AwayNodes() const {
  constexpr size_t kMaxNames = 8;
  std::vector<std::string> names;
  for (NodeId i = 0; i < entries_.size(); ++i) {
    if (!WhyAway(i).empty()) names.push_back(entries_[i].info.name());
  }
  if (names.empty()) return "";
  const size_t more = names.size() - std::min(names.size(), kMaxNames);
  names.resize(names.size() - more);
  return "no answer from the agent of " + Join(names, ", ") +
         (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

control::v1::StatusReply Membership::Describe(
    const control::JobRecords& jobs) const {
  std::vector<uint32_t> procs(entries_.size());
  for (const auto& [nspace, record] : jobs) {
    for (const ProcPlacement& p : record.job->procs) {
      const NodeId agent = record.job->nodes[p.node].agent;
      if (agent < procs.size()) ++procs[agent];
    }
  }
  control::v1::StatusReply reply;
  reply.set_version(kVersion);
  reply.set_radix(tree_.radix());
  for (NodeId i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    control::v1::NodeStatus* node = reply.add_nodes();
    node->set_node(i);
    node->set_name(entry.info.name());
    node->set_address(entry.info.address());
    node->set_up(tree_.alive(i));
    const NodeId parent = tree_.alive(i) ? tree_.parent(i) : kNoNode;
    node->set_parent(parent == kNoNode ? -1 : static_cast<int64_t>(parent));
    node->set_slots(entry.info.slots());
    node->set_procs(procs[i]);
    node->set_pid(entry.info.pid());
    node->set_version(entry.info.version());
    node->set_reason(Printable(entry.down_reason));
    node->set_drained(Printable(entry.drained));
    node->set_uptime_seconds(
        static_cast<uint64_t>((EventLoop::Now() - since_) / 1000000000));
  }
  return reply;
}

}  // namespace canopy::agent
