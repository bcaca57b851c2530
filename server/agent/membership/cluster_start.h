// The start of an agent that no launcher configures: its configuration comes
// from the file of its cluster.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_START_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_START_H_

#include <optional>
#include <string>

#include "common/cluster/cluster_file.h"
#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/membership/cluster_search.h"

namespace canopy::agent {

struct ClusterStart {
  bootstrap::v1::Config config;
  // The names and addresses of all members, none of which counts as up.
  bootstrap::v1::Members members;
  // True if an agent of this node was killed; the new agent continues its jobs.
  bool restarts = false;
  bool from_dns = false;  // the cluster's nodes come from DNS
};

// Returns the start of the agent of node `self`. Creates the parent of its
// runtime directory. If a killed predecessor has left its state there, the
// start continues with its members and jobs. Fails like ClusterKey::Load,
// MakePrivateDir and ContinueCluster.
Result<ClusterStart> StartInCluster(const ClusterFile& file, NodeId self);

// Returns the start of an agent that has found its place in a cluster whose
// nodes come from DNS. Fails like StartInCluster.
Result<ClusterStart> StartAtPlace(ClusterFile file, const ClusterPlace& place);

// Returns the start of the agent of the node `name` after a killed one, with
// the members that this one has stored, if the cluster's nodes come from DNS.
// Returns no value if nothing is stored. Fails like StartInCluster.
Result<std::optional<ClusterStart>> StartFromState(ClusterFile file,
                                                   const std::string& name);

// Returns a configuration that has only the cluster key and the certificates.
// Fails like ClusterKey::Load.
Result<bootstrap::v1::Config> CredentialsOfCluster(const ClusterFile& file);

// Changes `start` so that the agent continues after the one that has stored
// `state`. Nodes of the file that the predecessor did not know are left out;
// the agent adds them when it runs (NewClusterNodes). Returns kErrBadParam if
// the state belongs to another overlay or another order of nodes.
Status ContinueCluster(const bootstrap::v1::AgentState& state,
                       ClusterStart* start);

// Returns the nodes of the file that follow the `known` members. Returns
// kErrBadParam if a known member has another name in the file than in `known`.
Result<std::vector<ClusterNode>> NewClusterNodes(
    const ClusterFile& file, const bootstrap::v1::Members& known);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_CLUSTER_START_H_
