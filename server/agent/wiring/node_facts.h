// Creates job data about nodes from hwloc's topologies.
#ifndef CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_
#define CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/topology.h"
#include "protos/bootstrap.pb.h"
#include "server/datastore/node_facts.h"

namespace canopy::agent {

// Returns the data about this node. `server` is the name of this agent for
// clients. `tmpdir` is the directory for files of sessions.
datastore::NodeFacts MakeNodeFacts(const ProcId& server,
                                   const std::string& tmpdir,
                                   const Topology& topology);

// Returns the session's nodes, in the order of their agents.
std::vector<datastore::SessionNode> MakeSessionNodes(
    const bootstrap::v1::Members& members);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_
