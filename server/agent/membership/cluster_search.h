// The search of an agent for its place in a cluster whose nodes come from DNS.
//
// The addresses of a name come and go, so the place of an address in the sorted
// list is no number of a member. The root numbers the members instead, as for
// `canopy node add`: an agent asks the others for a place. If none of them
// answers, the agent with the first address begins the overlay, and the others
// wait for it.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_SEARCH_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_SEARCH_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/cluster/cluster_file.h"
#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"

namespace canopy::agent {

// Where an agent joins.
struct ClusterPlace {
  std::vector<ClusterNode> nodes;  // by number
  NodeId self = 0;
  // The members of the running overlay; no value if the agent begins it.
  std::optional<bootstrap::v1::Members> members;
};

// Blocks the process until the agent has a place. Used by one thread.
class ClusterSearch {
 public:
  struct Parts {
    // Returns the nodes that the source lists now.
    std::function<Result<std::vector<ClusterNode>>()> nodes;
    std::function<bool(const std::string& host)> is_own;
    // Asks the agents of these nodes for a place; fails like AskForPlace.
    std::function<Result<control::v1::AddNodesReply>(
        const std::vector<ClusterNode>& others)>
        ask;
    // Waits, at most for this time. Returns false if the search shall end.
    std::function<bool(std::chrono::milliseconds time)> wait;
    // Reports why the search continues. Called when the reason changes.
    std::function<void(const std::string& reason)> log;
  };
  // `name` is the name of the agent's node.
  ClusterSearch(std::string name, Parts parts)
      : name_(std::move(name)), p_(std::move(parts)) {}

  // Repeats the search, with longer and longer pauses, until there is a place.
  // Returns no value if `wait` ends it. Returns kErrUnpackFailure if a root
  // answers with nonsense.
  Result<std::optional<ClusterPlace>> Run();

 private:
  // Returns no value, and sets reason_, if there is no place yet.
  Result<std::optional<ClusterPlace>> Look();
  Result<std::optional<ClusterPlace>> Join(
      const control::v1::AddNodesReply& reply, const ClusterNode& own) const;
  std::optional<ClusterPlace> Wait(const std::string& reason);

  const std::string name_;
  const Parts p_;
  std::string reason_;  // why there is no place yet
  std::string logged_;  // the last reason that was reported
  // The list in which this agent was the first and no other agent answered.
  std::vector<std::string> alone_in_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_SEARCH_H_
