// The place of one agent in the tree of a job.
#ifndef CANOPY_SERVER_CORE_JOB_PLACE_H_
#define CANOPY_SERVER_CORE_JOB_PLACE_H_

#include <memory>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/tree.h"

namespace canopy::core {

// Returns the next hop from `self` towards the controller; kNoNode at the
// controller.
NodeId JobParent(const Tree& tree, NodeId self, NodeId controller);
// Returns whether the route from one agent to another passes `via`.
bool LeadsOver(const Tree& tree, NodeId from, NodeId to, NodeId via);

// The tree of a job is the overlay's tree, seen from the agent that controls
// the job. That agent was the root at the launch but need not be the root
// later. The place is up to date with the overlay's tree after Update. `tree`
// outlives this object. Used by one thread.
class JobPlace {
 public:
  // `lost` has the agents that were lost with their ranks since the launch.
  // Their new incarnations take no part, so no message is sent to them.
  JobPlace(NodeId self, const Tree& tree, std::shared_ptr<const JobSpec> spec,
           NodeId controller, std::set<NodeId> lost);

  NodeId self() const { return self_; }
  NodeId controller() const { return controller_; }
  bool controls() const { return controller_ == self_; }
  // Returns the parent; kNoNode at the controller.
  NodeId parent() const { return parent_; }
  // Returns all hops from the parent to the controller.
  const std::vector<NodeId>& route() const { return route_; }
  bool OnRoute(NodeId node) const;
  // Returns the next hops towards the job's other living nodes, ascending.
  const std::vector<NodeId>& children() const { return children_; }
  bool IsChild(NodeId node) const;
  const std::set<NodeId>& lost() const { return lost_; }

  // Returns the neighbour through which `agent` answers: the next hop to
  // `agent`, or this agent itself.
  NodeId HopTo(NodeId agent) const;

  // Returns whether `src` may end the job at this agent. The agents on the
  // route to the controller may, and so may the root, which knows every
  // remaining job.
  bool MayEnd(NodeId src) const;
  // Records that `src` reports about the job. If `src` is not a child, it
  // becomes a provisional child, because it has learned of its parent's loss
  // before this agent did. Returns whether `src` is a child.
  bool AddReporter(NodeId src);
  void AddProvisional(NodeId node) { provisional_children_.insert(node); }
  // Returns the living children and provisional children.
  std::vector<NodeId> Below() const;
  // Returns the children through which at least one of `ranks` (empty: all) is
  // reached.
  std::vector<NodeId> ChildrenTowards(const std::vector<Rank>& ranks) const;
  // Returns the lost nodes of the job that are not on the parent's side of the
  // tree.
  std::vector<NodeId> LostBelow() const;

  // Changes the controller, and recomputes the route and the children.
  void SetController(NodeId controller);
  // Recomputes the parent from the tree. Called when the parent has sent a new
  // request.
  void UpdateParent();
  // Records that the node is lost. The caller must call Update afterwards.
  void MarkLost(NodeId node);
  // The differences that Update has found.
  struct Change {
    std::vector<NodeId> new_children;
    bool parent = false;
    bool route = false;
  };
  // Recomputes the place after the tree or the lost nodes have changed.
  Change Update();

 private:
  std::vector<NodeId> FindRoute() const;
  std::vector<NodeId> FindChildren() const;

  const NodeId self_;
  const Tree& tree_;
  std::shared_ptr<const JobSpec> spec_;
  NodeId controller_;
  NodeId parent_;
  std::vector<NodeId> route_;
  std::set<NodeId> lost_;
  std::vector<NodeId> children_;
  std::set<NodeId> provisional_children_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_PLACE_H_
