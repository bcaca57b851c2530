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

// Next hop from `self` towards the controller; kNoNode there.
NodeId JobParent(const Tree& tree, NodeId self, NodeId controller);
// Whether the route from one agent to another passes `via`.
bool LeadsOver(const Tree& tree, NodeId from, NodeId to, NodeId via);

// The tree of a job is the overlay's, seen from the agent that controls the
// job: the root when it was launched, which need not be the root any more. The
// place is up to date with the overlay's tree after Update.
class JobPlace {
 public:
  // `lost`: agents lost with their ranks since the launch. Their new
  // incarnations take no part, so they are no target of any message.
  JobPlace(NodeId self, const Tree& tree, std::shared_ptr<const JobSpec> spec,
           NodeId controller, std::set<NodeId> lost);

  NodeId self() const { return self_; }
  NodeId controller() const { return controller_; }
  bool controls() const { return controller_ == self_; }
  // kNoNode at the controller.
  NodeId parent() const { return parent_; }
  // All hops from the parent to the controller.
  const std::vector<NodeId>& route() const { return route_; }
  bool OnRoute(NodeId node) const;
  // Next hops towards the job's other living nodes, ascending.
  const std::vector<NodeId>& children() const { return children_; }
  bool IsChild(NodeId node) const;
  const std::set<NodeId>& lost() const { return lost_; }

  // The agent that is asked about another one's part: the next hop to it.
  NodeId HopTo(NodeId agent) const;

  // Whether `src` may end the job here: the agents on the route to its
  // controller, and the root, which knows every remaining job.
  bool MayEnd(NodeId src) const;
  // `src` reports about the job. When it is no child, it becomes a provisional
  // one: an agent that learned of its parent's loss before this one did.
  // Returns whether it is a child.
  bool AddReporter(NodeId src);
  void AddProvisional(NodeId node) { provisional_children_.insert(node); }
  // The living children and provisional children.
  std::vector<NodeId> Below() const;
  // Those of the children through which some of `ranks` (empty: all) are
  // reached.
  std::vector<NodeId> ChildrenTowards(const std::vector<Rank>& ranks) const;
  // Nodes of the job that were lost, and not on the parent's side of the tree.
  std::vector<NodeId> LostBelow() const;

  void SetController(NodeId controller);
  // The parent has asked anew.
  void UpdateParent();
  // Call Update after it.
  void MarkLost(NodeId node);
  // What changed with the overlay's tree.
  struct Change {
    std::vector<NodeId> new_children;
    bool parent = false;
    bool route = false;
  };
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
