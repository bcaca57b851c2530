// The k-ary tree over the sorted member list, and its shape after losses. Every
// agent computes it from the same list and the same losses.
#ifndef CANOPY_SERVER_CORE_TREE_H_
#define CANOPY_SERVER_CORE_TREE_H_

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

// In the full tree the parent of member i > 0 is (i - 1) / radix. A member
// whose parent is lost becomes a child of its nearest living ancestor, or of
// the root if all its ancestors are lost. The root is the lowest living member.
// Whether members are in service does not change the tree. Not thread-safe.
class Tree {
 public:
  // A radix below 2 is raised to 2, and a size below 1 to 1.
  Tree(uint32_t size, uint32_t radix);

  uint32_t size() const { return static_cast<uint32_t>(alive_.size()); }
  uint32_t radix() const { return radix_; }
  // Adds members at the end of the list, up to `size`. They count as lost until
  // SetAlive. Does nothing if the list is at least that long.
  void Grow(uint32_t size);
  // Records whether a node is alive. Does nothing for a node that is not in the
  // list.
  void SetAlive(NodeId node, bool alive);
  // Returns whether the node is alive; false for a node that is not in the
  // list.
  bool alive(NodeId node) const { return node < alive_.size() && alive_[node]; }
  // Returns a number that changes whenever a member is lost or returns.
  uint64_t version() const { return version_; }

  // Records whether a node is in service, as every node is until then. Does
  // nothing for a node that is not in the list.
  void SetInService(NodeId node, bool in_service);

  // Returns the root; kNoNode if every member is lost.
  NodeId root() const { return root_; }
  // Returns the leader, which controls new jobs: the first living member in
  // service, or the root if none is in service.
  NodeId leader() const;
  // Returns the parent, whose number is always lower; kNoNode for the root. For
  // a lost member, returns the parent that it would have.
  NodeId parent(NodeId node) const;
  // Returns the living members whose parent is `node`, ascending.
  std::vector<NodeId> children(NodeId node) const;
  // Returns true if node == top or top is a living ancestor of node.
  bool InSubtree(NodeId top, NodeId node) const;
  // Returns the child of `top` whose subtree contains `node`; kNoNode if there
  // is none.
  NodeId ChildTowards(NodeId top, NodeId node) const;
  // Returns the first hop on the path between two living members.
  NodeId NextHop(NodeId from, NodeId to) const;
  // Returns the lowest common ancestor of living members, which may be one of
  // them; kNoNode for an empty list.
  NodeId LowestCommonAncestor(std::span<const NodeId> nodes) const;
  // Returns the member that collects all contributions to a collective of these
  // living members and releases the collective: their lowest common ancestor,
  // or the root after LetRootDecide.
  NodeId TopOf(std::span<const NodeId> nodes) const;
  // Makes the root take part in every collective from now on.
  void LetRootDecide() { root_decides_ = true; }

 private:
  void AddLivingBelow(NodeId node, std::vector<NodeId>* out) const;

  uint32_t radix_;
  bool root_decides_ = false;
  NodeId root_ = 0;
  uint64_t version_ = 0;
  std::vector<uint8_t> alive_;
  std::set<NodeId> out_of_service_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_TREE_H_
