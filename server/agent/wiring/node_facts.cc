#include "server/agent/wiring/node_facts.h"

#include <cstddef>
#include <cstdint>
#include <optional>

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
  facts.available_memory = topology.memory_bytes;
  facts.topology_signature = topology.signature;
  // A process that is not bound is everywhere on its node; no locality at all
  // would say that it is on another one.
  facts.locality = [topology](const std::string& cpuset) {
    const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
    if (!cpus.ok()) return std::string();
    return LocalityString(topology, cpuset.empty() ? topology.cpus : *cpus);
  };
  facts.package =
      [topology](const std::string& cpuset) -> std::optional<uint32_t> {
    const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
    if (!cpus.ok() || cpuset.empty()) return std::nullopt;
    const auto& packages = topology.at(TopologyLevel::kPackage);
    for (size_t i = 0; i < packages.size(); ++i) {
      if (packages[i].Contains(*cpus)) return static_cast<uint32_t>(i);
    }
    return std::nullopt;
  };
  return facts;
}

}  // namespace canopy::agent
