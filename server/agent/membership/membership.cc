#include "server/agent/membership/membership.h"

#include <algorithm>
#include <utility>

#include "common/event_loop.h"
#include "common/string_util.h"
#include "common/text.h"
#include "common/version.h"

namespace canopy::agent {
namespace {

// The processes for each slot that the jobs of one user may have by default. A
// few jobs that share their nodes, or that oversubscribe them, need several.
constexpr uint64_t kProcsPerSlot = 4;

// Maximum number of controlled jobs that the status of a node names.
constexpr int kMaxControlled = 8;

void AddControlled(const control::JobRecords& jobs, NodeId node, NodeId self,
                   control::v1::NodeStatus* out) {
  for (const auto& [nspace, record] : jobs) {
    const NodeId controller =
        record.controller == kNoNode ? self : record.controller;
    if (controller != node || record.facts.tool) continue;
    if (out->controls_size() < kMaxControlled) out->add_controls(nspace);
    out->set_num_controlled(out->num_controlled() + 1);
  }
}

bool IsCalled(const bootstrap::v1::NodeInfo& info, const std::string& name) {
  return info.name() == name || std::ranges::count(info.aliases(), name) > 0;
}

}  // namespace

Membership::Membership(const bootstrap::v1::Config& config)
    : self_(config.self()),
      drained_root_yields_(!config.embedded()),
      tree_(static_cast<uint32_t>(std::max(config.member_names_size(), 1)),
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
  Entry& entry = entries_[change.node];
  entry.down_reason = change.up ? "" : change.reason;
  entry.joining &= !change.up;
  NoteLeader();
}

void Membership::NoteLeader() {
  const NodeId leader = tree_.leader();
  if (std::exchange(leader_, leader) != leader && leader_changed_) {
    leader_changed_();
  }
}

control::UserLimits Membership::LimitsOfUsers(
    const bootstrap::v1::Config& config) const {
  control::UserLimits limits;
  uint64_t slots = 0;
  for (NodeId node = 0; node < size(); ++node) {
    if (!removed(node)) slots += info(node).slots();
  }
  limits.procs = std::max(limits.procs, kProcsPerSlot * slots);
  if (config.max_jobs_per_user() != 0) limits.jobs = config.max_jobs_per_user();
  if (config.max_procs_per_user() != 0) {
    limits.procs = config.max_procs_per_user();
  }
  return limits;
}

std::string Membership::Name(NodeId node) const {
  return node < entries_.size() ? entries_[node].info.name()
                                : "member " + std::to_string(node);
}

void Membership::Apply(const overlay::MemberRecord& record) {
  if (record.node > size()) return;
  if (record.node == size()) {
    Entry& added = entries_.emplace_back();
    added.info.set_name(record.name);
    added.down_reason = "its agent has not joined yet";
    added.joining = true;
    tree_.Grow(size());
  }
  Entry& entry = entries_[record.node];
  bootstrap::v1::NodeInfo info;
  // Each agent knows its own description better.
  if (record.node != self_ && !entry.described && !record.description.empty() &&
      info.ParseFromString(record.description)) {
    entry.info = std::move(info);
  }
  if (drained_root_yields_) {
    tree_.SetInService(record.node,
                       record.service == overlay::Service::kInService);
  }
  entry.record = record;
  entry.record.description.clear();
  NoteLeader();
}

bool Membership::Describe(NodeId node, const std::string& description) {
  bootstrap::v1::NodeInfo info;
  if (node >= size() || node == self_ || !info.ParseFromString(description)) {
    return false;
  }
  Entry& entry = entries_[node];
  if (info.name() != entry.info.name()) return false;
  const bool changes = entry.info.SerializeAsString() != description;
  entry.described = true;
  entry.info = std::move(info);
  return changes;
}

NodeId Membership::Find(const std::string& name) const {
  for (NodeId node = 0; node < size(); ++node) {
    if (!removed(node) && IsCalled(entries_[node].info, name)) return node;
  }
  return kNoNode;
}

overlay::MemberRecord Membership::RecordOf(NodeId node) const {
  overlay::MemberRecord record = entries_[node].record;
  record.node = node;
  record.name = entries_[node].info.name();
  if (!entries_[node].described) {
    record.description = entries_[node].info.SerializeAsString();
  }
  return record;
}

bool Membership::HasMajority() const {
  uint32_t kept = 0;
  uint32_t up = 0;
  for (NodeId node = 0; node < size(); ++node) {
    if (removed(node) || entries_[node].joining) continue;
    ++kept;
    up += tree_.alive(node) ? 1 : 0;
  }
  return up > kept / 2;
}

bootstrap::v1::Members Membership::Members() const {
  bootstrap::v1::Members members;
  for (const Entry& entry : entries_) *members.add_nodes() = entry.info;
  return members;
}

std::string Membership::WhyDrained(NodeId node) const {
  const overlay::MemberRecord& record = entries_[node].record;
  switch (record.service) {
    case overlay::Service::kInService:
      return "";
    case overlay::Service::kDrained:
      return record.reason.empty() ? "drained" : record.reason;
    default:
      return "removed from the overlay";
  }
}

std::string Membership::LostNode(const std::string& name) const {
  for (NodeId i = 0; i < entries_.size(); ++i) {
    if (!removed(i) && !tree_.alive(i) && IsCalled(entries_[i].info, name)) {
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
    if (removed(i)) continue;
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
    node->set_drained(Printable(WhyDrained(i)));
    node->set_joining(entry.joining);
    node->set_decided_ms(entry.record.since_ms);
    node->set_leader(IsLeader(i));
    AddControlled(jobs, i, self_, node);
    node->set_uptime_seconds(
        static_cast<uint64_t>((EventLoop::Now() - since_) / 1000000000));
  }
  return reply;
}

}  // namespace canopy::agent
