#include "server/core/job/place.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

NodeId JobParent(const Tree& tree, NodeId self, NodeId controller) {
  if (self == controller || !tree.alive(controller)) return kNoNode;
  return tree.NextHop(self, controller);
}

bool LeadsOver(const Tree& tree, NodeId from, NodeId to, NodeId via) {
  for (NodeId at = from; at != kNoNode && at != to; at = tree.NextHop(at, to)) {
    if (at == via) return true;
  }
  return to == via;
}

JobPlace::JobPlace(NodeId self, const Tree& tree,
                   std::shared_ptr<const JobSpec> spec, NodeId controller,
                   std::set<NodeId> lost)
    : self_(self),
      tree_(tree),
      spec_(std::move(spec)),
      controller_(controller),
      parent_(JobParent(tree, self, controller)),
      route_(FindRoute()),
      lost_(std::move(lost)),
      children_(FindChildren()) {}

std::vector<NodeId> JobPlace::FindRoute() const {
  std::vector<NodeId> route;
  for (NodeId at = JobParent(tree_, self_, controller_); at != kNoNode;
       at = JobParent(tree_, at, controller_)) {
    route.push_back(at);
  }
  return route;
}

std::vector<NodeId> JobPlace::FindChildren() const {
  const NodeId up = JobParent(tree_, self_, controller_);
  std::set<NodeId> children;
  for (const JobNode& node : spec_->nodes) {
    if (node.agent == self_ || !tree_.alive(node.agent) ||
        lost_.contains(node.agent)) {
      continue;
    }
    const NodeId hop = tree_.NextHop(self_, node.agent);
    if (hop != up && hop != kNoNode) children.insert(hop);
  }
  return {children.begin(), children.end()};
}

bool JobPlace::OnRoute(NodeId node) const {
  return std::ranges::count(route_, node) > 0;
}

bool JobPlace::IsChild(NodeId node) const {
  return std::ranges::binary_search(children_, node);
}

NodeId JobPlace::HopTo(NodeId agent) const {
  return agent == self_ ? self_ : tree_.NextHop(self_, agent);
}

bool JobPlace::MayEnd(NodeId src) const {
  return src == tree_.root() || src == controller_ || OnRoute(src);
}

bool JobPlace::AddReporter(NodeId src) {
  if (IsChild(src)) return true;
  AddProvisional(src);
  return false;
}

std::vector<NodeId> JobPlace::Below() const {
  std::set<NodeId> below = provisional_children_;
  below.insert(children_.begin(), children_.end());
  std::erase_if(below, [this](NodeId n) { return !tree_.alive(n); });
  return {below.begin(), below.end()};
}

std::vector<NodeId> JobPlace::ChildrenTowards(
    const std::vector<Rank>& ranks) const {
  if (ranks.empty()) return children_;
  std::set<NodeId> hops;
  for (const Rank rank : ranks) {
    if (rank >= spec_->procs.size()) continue;
    const NodeId agent = spec_->nodes[spec_->procs[rank].node].agent;
    if (agent == self_ || !tree_.alive(agent)) continue;
    hops.insert(tree_.NextHop(self_, agent));
  }
  std::vector<NodeId> out;
  for (const NodeId child : children_) {
    if (hops.contains(child)) out.push_back(child);
  }
  return out;
}

std::vector<NodeId> JobPlace::LostBelow() const {
  std::vector<NodeId> out;
  for (const NodeId node : lost_) {
    const bool above = node != self_ && tree_.NextHop(self_, node) == parent_;
    if (!above) out.push_back(node);
  }
  return out;
}

void JobPlace::SetController(NodeId controller) {
  controller_ = controller;
  route_ = FindRoute();
  children_ = FindChildren();
}

void JobPlace::UpdateParent() {
  parent_ = JobParent(tree_, self_, controller_);
}

void JobPlace::MarkLost(NodeId node) {
  const bool takes_part = std::ranges::any_of(
      spec_->nodes, [node](const JobNode& n) { return n.agent == node; });
  if (takes_part) lost_.insert(node);
}

JobPlace::Change JobPlace::Update() {
  Change change;
  const std::vector<NodeId> before = std::exchange(children_, FindChildren());
  for (const NodeId child : children_) {
    if (!std::ranges::binary_search(before, child)) {
      change.new_children.push_back(child);
    }
  }
  const NodeId parent = JobParent(tree_, self_, controller_);
  change.parent = std::exchange(parent_, parent) != parent;
  std::vector<NodeId> route = FindRoute();
  change.route = route != route_;
  route_ = std::move(route);
  return change;
}

}  // namespace canopy::core
