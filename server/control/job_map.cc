#include "server/control/job_map.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace canopy::control {
namespace {

// Returns the topology with its memory in whole GiB, because machines of one
// kind differ by some MiB.
std::string EncodedShape(const Topology& topology) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  Topology shape = topology;
  shape.memory_bytes = (topology.memory_bytes + kGib / 2) / kGib * kGib;
  return EncodeTopology(shape);
}

}  // namespace

void FillJobMap(const JobSpec& job,
                google::protobuf::RepeatedPtrField<v1::MapNode>* nodes) {
  for (const JobNode& node : job.nodes) {
    v1::MapNode* const out = nodes->Add();
    out->set_name(node.name);
    out->set_slots(node.slots);
  }
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    const ProcPlacement& place = job.procs[rank];
    v1::MapProc* const out =
        nodes->Mutable(static_cast<int>(place.node))->add_procs();
    out->set_rank(rank);
    out->set_app(place.app);
    out->set_cpuset(place.cpuset);
    if (!job.gpus.empty()) out->set_gpus(job.gpus[rank]);
  }
}

void AddTopologies(
    const JobSpec& job,
    const std::function<std::shared_ptr<const Topology>(NodeId agent)>&
        topology,
    v1::JobMapped* mapped) {
  std::map<std::string, uint32_t> positions;
  size_t bytes = 0;
  for (int i = 0; i < mapped->nodes_size(); ++i) {
    const auto known = topology(job.nodes[static_cast<size_t>(i)].agent);
    if (known == nullptr) continue;
    std::string shape = EncodedShape(*known);
    auto entry = positions.find(shape);
    if (entry == positions.end()) {
      bytes += shape.size();
      if (bytes > kMaxTopologyBytes) return;
      mapped->add_topologies(shape);
      entry =
          positions.emplace(std::move(shape), mapped->topologies_size()).first;
    }
    mapped->mutable_nodes(i)->set_topology(entry->second);
  }
}

}  // namespace canopy::control
