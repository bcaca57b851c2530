// Decides over which links packets of a member may arrive.
#ifndef CANOPY_SERVER_OVERLAY_SOURCE_PATHS_H_
#define CANOPY_SERVER_OVERLAY_SOURCE_PATHS_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "server/overlay/membership_view.h"

namespace canopy::overlay {

// A neighbour may send packets in the name of the members on its own side of
// the tree, so a compromised agent can forge only messages of these members.
// While a change of the membership spreads, other agents may route by another
// tree than this agent. So for some time after a member's state has changed,
// the member counts as possibly alive and possibly lost. A path is accepted if
// it exists in a tree that is possible then. A member whose state changes
// repeatedly makes only those paths acceptable that depend on its own state.
// Pure state; times are nanoseconds of one monotonic clock.
class SourcePaths {
 public:
  // `view` outlives this object. `window_ns` is the time in which packets may
  // still travel along paths of an earlier tree.
  SourcePaths(const MembershipView* view, int64_t window_ns);

  // Called when this agent has started, or has returned after it was lost.
  // Other agents may not have this agent in their trees yet.
  void OnBegin(int64_t now);
  // Called when the view has new members.
  void OnAdded();
  // Called when the state of `node` in the view has changed.
  void OnChanged(NodeId node, int64_t now);

  // Returns true if a packet of `source` may arrive over the link of
  // `neighbor`. Both are members, and neither is this agent.
  bool MayCome(NodeId source, NodeId neighbor, int64_t now) const;

 private:
  bool Uncertain(NodeId node, int64_t now) const;
  bool MayBeLost(NodeId node, int64_t now) const;
  bool MayBeAlive(NodeId node, int64_t now) const;
  // Returns true if `parent` is the parent of `node` in a possible tree.
  bool MayBeParent(NodeId parent, NodeId node, int64_t now) const;
  bool MayBeRoot(NodeId node, int64_t now) const;
  bool InTree(NodeId source, NodeId neighbor) const;
  // Returns true if `top` is `node` or an ancestor of it in the full tree.
  bool IsAbove(NodeId top, NodeId node) const;
  NodeId ParentInFullTree(NodeId node) const;

  const MembershipView* const view_;
  const int64_t window_ns_;
  // The time of each member's last change. For this agent, it is the time of
  // its last start or return.
  std::vector<int64_t> changed_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_SOURCE_PATHS_H_
