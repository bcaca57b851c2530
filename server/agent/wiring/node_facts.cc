#include "server/agent/wiring/node_facts.h"

#include <algorithm>
#include <memory>

#include "common/cpuset.h"
#include "common/status.h"
#include "common/version.h"

namespace canopy::agent {

datastore::NodeFacts MakeNodeFacts(const ProcId& server,
                                   const std::string& tmpdir,
                                   const Topology& topology) {
  datastore::NodeFacts facts;
  facts.self = server.rank;
  facts.server = server;
  facts.cluster_id = server.nspace;
  facts.rm_version = kVersion;
  facts.tmpdir = tmpdir;
  // A process that is not bound uses its whole node. An empty locality would
  // mean that it is on another node.
  facts.locality = [topology](const std::string& cpuset) {
    const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
    if (!cpus.ok()) return std::string();
    return LocalityString(topology, cpuset.empty() ? topology.cpus : *cpus);
  };
  return facts;
}

std::vector<datastore::SessionNode> MakeSessionNodes(
    const bootstrap::v1::Members& members) {
  std::vector<datastore::SessionNode> nodes;
  for (const bootstrap::v1::NodeInfo& info : members.nodes()) {
    datastore::SessionNode& node = nodes.emplace_back();
    node.name = info.name();
    Result<Topology> topology = DecodeTopology(info.topology());
    if (!topology.ok()) continue;
    node.memory_bytes = topology->memory_bytes;
    node.topology_signature = topology->signature;
    const auto& packages = topology->at(TopologyLevel::kPackage);
    const auto alike = std::ranges::find_if(nodes, [&](const auto& other) {
      return other.packages != nullptr && *other.packages == packages;
    });
    node.packages = alike == nodes.end()
                        ? std::make_shared<const std::vector<CpuSet>>(packages)
                        : alike->packages;
  }
  return nodes;
}

}  // namespace canopy::agent
