// The k-ary tree over the sorted member list, and its shape when members are
// lost. Every agent computes it from the same list and the same losses.
#ifndef CANOPY_SERVER_CORE_TREE_H_
#define CANOPY_SERVER_CORE_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

// In the full tree the parent of member i > 0 is (i - 1) / radix. A member
// whose ancestors are lost hangs below the nearest one that is alive; when none
// is, the lowest living member is the root and takes it. Not thread-safe.
class Tree {
 public:
  // radix >= 2; size >= 1 (smaller values are raised to these).
  Tree(uint32_t size, uint32_t radix);

  uint32_t size() const { return static_cast<uint32_t>(alive_.size()); }
  uint32_t radix() const { return radix_; }
  void SetAlive(NodeId node, bool alive);
  // False for a node that is not in the list.
  bool alive(NodeId node) const { return node < alive_.size() && alive_[node]; }
  // Changes whenever a member is lost or comes back.
  uint64_t version() const { return version_; }

  // kNoNode when every member is lost.
  NodeId root() const { return root_; }
  // Always a lower number than `node`; where a lost member would hang.
  // kNoNode for the root.
  NodeId parent(NodeId node) const;
  // Living members whose parent is `node`, ascending.
  std::vector<NodeId> children(NodeId node) const;
  // node == top, or top is among node's living ancestors.
  bool InSubtree(NodeId top, NodeId node) const;
  // The child of `top` whose subtree holds `node`; kNoNode when none does.
  NodeId ChildTowards(NodeId top, NodeId node) const;
  // First hop on the way between two living members.
  NodeId NextHop(NodeId from, NodeId to) const;
  // Lowest common ancestor (possibly one of them) of living members; empty
  // input gives kNoNode.
  NodeId LowestCommonAncestor(std::span<const NodeId> nodes) const;
  // The member that has all contributions to a collective of these living
  // members, and releases it: their lowest common ancestor, or the root of a
  // tree in which that has a say in every collective.
  NodeId TopOf(std::span<const NodeId> nodes) const;
  // From now on it has.
  void LetRootDecide() { root_decides_ = true; }

 private:
  void AddLivingBelow(NodeId node, std::vector<NodeId>* out) const;

  uint32_t radix_;
  bool root_decides_ = false;
  NodeId root_ = 0;
  uint64_t version_ = 0;
  std::vector<uint8_t> alive_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_TREE_H_
