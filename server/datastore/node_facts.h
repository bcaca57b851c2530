// The agent's information about itself, its node and the session's other nodes,
// in addition to the maps of jobs.
#ifndef CANOPY_SERVER_DATASTORE_NODE_FACTS_H_
#define CANOPY_SERVER_DATASTORE_NODE_FACTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/cpuset.h"
#include "common/ids.h"

namespace canopy::datastore {

// One node of the session: a member of the overlay, up or not.
struct SessionNode {
  std::string name;
  uint64_t memory_bytes = 0;       // 0: unknown
  std::string topology_signature;  // empty: unknown
  // The CPUs of each package. Equal nodes may share this vector. Null: unknown.
  std::shared_ptr<const std::vector<CpuSet>> packages;
};

// Any field may be empty; the keys that need it are then omitted.
struct NodeFacts {
  NodeId self = 0;  // this agent
  ProcId server;    // PMIX_SERVER_NSPACE, PMIX_SERVER_RANK
  // Returns PMIX_SERVER_URI, the address at which tools connect to this agent;
  // empty if there is none.
  std::function<std::string()> uri;
  std::string cluster_id;
  std::string rm_name = "canopy";
  std::string rm_version;
  // PMIX_TMPDIR. Each job gets a directory below it, and each local rank a
  // directory below that of its job.
  std::string tmpdir;
  std::vector<SessionNode> nodes;  // index: the agent, which is PMIX_NODEID
  // Returns PMIX_LOCALITY_STRING of a process on this node. `cpuset` has the
  // CPUs to which the process is bound, in hwloc's list format; empty: not
  // bound.
  std::function<std::string(const std::string& cpuset)> locality;

  // Returns null if the node of that agent is unknown.
  const SessionNode* NodeOf(NodeId agent) const {
    return agent < nodes.size() ? &nodes[agent] : nullptr;
  }
};

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_NODE_FACTS_H_
