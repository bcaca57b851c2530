// Job data about this node, from hwloc's topology.
#ifndef CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_
#define CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_

#include <string>

#include "common/ids.h"
#include "common/topology.h"
#include "server/datastore/datastore.h"

namespace canopy::agent {

// `server`: how clients name this agent. `tmpdir`: where sessions have their
// files.
datastore::NodeFacts MakeNodeFacts(const ProcId& server,
                                   const std::string& tmpdir,
                                   const Topology& topology);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_NODE_FACTS_H_
