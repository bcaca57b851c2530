#include "server/overlay/source_paths.h"

namespace canopy::overlay {

SourcePaths::SourcePaths(const MembershipView* view, int64_t window_ns)
    : view_(view),
      window_ns_(window_ns),
      changed_(view->table().size(), INT64_MIN / 2) {}

void SourcePaths::OnBegin(int64_t now) { OnChanged(view_->self(), now); }

void SourcePaths::OnAdded() {
  changed_.resize(view_->table().size(), INT64_MIN / 2);
}

void SourcePaths::OnChanged(NodeId node, int64_t now) { changed_[node] = now; }

// An agent that has just started does not know yet which members are lost.
bool SourcePaths::Uncertain(NodeId node, int64_t now) const {
  return !view_->table().Known(node) || now - changed_[node] < window_ns_;
}

bool SourcePaths::MayBeLost(NodeId node, int64_t now) const {
  return Uncertain(node, now) || !view_->tree().alive(node);
}

bool SourcePaths::MayBeAlive(NodeId node, int64_t now) const {
  return Uncertain(node, now) || view_->tree().alive(node);
}

NodeId SourcePaths::ParentInFullTree(NodeId node) const {
  return (node - 1) / view_->tree().radix();
}

bool SourcePaths::IsAbove(NodeId top, NodeId node) const {
  while (node > top) node = ParentInFullTree(node);
  return node == top;
}

bool SourcePaths::MayBeRoot(NodeId node, int64_t now) const {
  for (NodeId lower = 0; lower < node; ++lower) {
    if (!MayBeLost(lower, now)) return false;
  }
  return MayBeAlive(node, now);
}

bool SourcePaths::MayBeParent(NodeId parent, NodeId node, int64_t now) const {
  if (parent >= node || !MayBeAlive(parent, now)) return false;
  while (node != 0) {
    node = ParentInFullTree(node);
    if (node == parent) return true;
    if (!MayBeLost(node, now)) return false;
  }
  return MayBeRoot(parent, now);
}

bool SourcePaths::InTree(NodeId source, NodeId neighbor) const {
  return view_->IsNeighbor(neighbor) &&
         view_->tree().NextHop(view_->self(), source) == neighbor;
}

bool SourcePaths::MayCome(NodeId source, NodeId neighbor, int64_t now) const {
  if (source == neighbor || InTree(source, neighbor)) return true;
  const NodeId self = view_->self();
  if (neighbor > self) {
    // The root is the parent of members whose ancestors are lost.
    return MayBeAlive(neighbor, now) &&
           (IsAbove(neighbor, source) || MayBeRoot(neighbor, now)) &&
           MayBeParent(self, neighbor, now);
  }
  // Members below this agent send through it, unless they believe that it is
  // lost.
  return MayBeParent(neighbor, self, now) &&
         (!IsAbove(self, source) || MayBeLost(self, now));
}

}  // namespace canopy::overlay
