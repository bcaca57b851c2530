#include "server/core/tree.h"

#include <algorithm>

namespace canopy::core {

Tree::Tree(uint32_t size, uint32_t radix)
    : radix_(std::max(radix, 2u)), alive_(std::max(size, 1u), 1) {}

void Tree::Grow(uint32_t size) {
  if (size > alive_.size()) alive_.resize(size, 0);
}

void Tree::SetAlive(NodeId node, bool alive) {
  if (node >= alive_.size() || this->alive(node) == alive) return;
  alive_[node] = alive;
  ++version_;
  if (alive) {
    root_ = std::min(root_, node);
  } else if (node == root_) {
    const auto it = std::find(alive_.begin() + node, alive_.end(), 1);
    root_ =
        it == alive_.end() ? kNoNode : static_cast<NodeId>(it - alive_.begin());
  }
}

void Tree::SetInService(NodeId node, bool in_service) {
  if (node >= alive_.size()) return;
  if (in_service) {
    out_of_service_.erase(node);
  } else {
    out_of_service_.insert(node);
  }
}

NodeId Tree::leader() const {
  if (!out_of_service_.contains(root_)) return root_;
  for (NodeId node = root_; node < alive_.size(); ++node) {
    if (alive_[node] && !out_of_service_.contains(node)) return node;
  }
  return root_;
}

NodeId Tree::parent(NodeId node) const {
  for (NodeId up = node; up != 0;) {
    up = (up - 1) / radix_;
    if (alive_[up]) return up;
  }
  return node == root_ ? kNoNode : root_;
}

void Tree::AddLivingBelow(NodeId node, std::vector<NodeId>* out) const {
  const uint64_t first = uint64_t{node} * radix_ + 1;
  const uint64_t end = std::min<uint64_t>(first + radix_, alive_.size());
  for (uint64_t child = first; child < end; ++child) {
    const auto id = static_cast<NodeId>(child);
    if (alive_[id]) {
      out->push_back(id);
    } else {
      AddLivingBelow(id, out);
    }
  }
}

std::vector<NodeId> Tree::children(NodeId node) const {
  std::vector<NodeId> out;
  AddLivingBelow(node, &out);
  if (node == root_ && node != 0) {
    AddLivingBelow(0, &out);
    std::erase(out, node);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool Tree::InSubtree(NodeId top, NodeId node) const {
  // A parent always has a lower number than its child.
  while (node != kNoNode && node > top) node = parent(node);
  return node == top;
}

NodeId Tree::ChildTowards(NodeId top, NodeId node) const {
  while (node != kNoNode && node > top) {
    const NodeId up = parent(node);
    if (up == top) return node;
    node = up;
  }
  return kNoNode;
}

NodeId Tree::NextHop(NodeId from, NodeId to) const {
  const NodeId down = ChildTowards(from, to);
  return down != kNoNode ? down : parent(from);
}

NodeId Tree::TopOf(std::span<const NodeId> nodes) const {
  return root_decides_ && !nodes.empty() ? root_ : LowestCommonAncestor(nodes);
}

NodeId Tree::LowestCommonAncestor(std::span<const NodeId> nodes) const {
  NodeId a = kNoNode;
  for (NodeId b : nodes) {
    if (a == kNoNode) a = b;
    while (a != b) {
      if (a > b) {
        a = parent(a);
      } else {
        b = parent(b);
      }
      if (a == kNoNode || b == kNoNode) return kNoNode;
    }
  }
  return a;
}

}  // namespace canopy::core
