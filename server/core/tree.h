// The k-ary tree over the sorted member list, and its shape after losses. Every
// agent computes it from the same list and the same losses.
#ifndef CANOPY_SERVER_CORE_TREE_H_
#define CANOPY_SERVER_CORE_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

// In the full tree the parent of member i > 0 is (i - 1) / radix. A member
// whose parent is lost becomes a child of its nearest living ancestor, or of
// the root if all its ancestors are lost. The root is the lowest living member.
// Not thread-safe.
class Tree {
 public:
  // radix >= 2 and size >= 1; smaller values are raised to these.
  Tree(uint32_t size, uint32_t radix);

  uint32_t size() const { return static_cast<uint32_t>(alive_.size()); }
  uint32_t radix() const { return radix_; }
  void SetAlive(NodeId node, bool alive);
  // Returns false for a node that is not in the list.
  bool alive(NodeId node) const { return node < alive_.size() && alive_[node]; }
  // Changes whenever a member is lost or returns.
  uint64_t version() const { return version_; }

  // kNoNode if every member is lost.
  NodeId root() const { return root_; }
  // The parent's number is always lower. For a lost member, the parent that it
  // would have. kNoNode for the root.
  NodeId parent(NodeId node) const;
  // Living members whose parent is `node`, ascending.
  std::vector<NodeId> children(NodeId node) const;
  // True if node == top or top is a living ancestor of node.
  bool InSubtree(NodeId top, NodeId node) const;
  // The child of `top` whose subtree contains `node`; kNoNode if there is none.
  NodeId ChildTowards(NodeId top, NodeId node) const;
  // The first hop on the path between two living members.
  NodeId NextHop(NodeId from, NodeId to) const;
  // The lowest common ancestor of living members, possibly one of them. kNoNode
  // for an empty list.
  NodeId LowestCommonAncestor(std::span<const NodeId> nodes) const;
  // The member that collects all contributions to a collective of these living
  // members and releases it: their lowest common ancestor, or the root after
  // LetRootDecide.
  NodeId TopOf(std::span<const NodeId> nodes) const;
  // From now on, the root takes part in every collective.
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
