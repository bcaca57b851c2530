#include "client/cli/run/topology_text.h"

#include <utility>

#include "client/cli/agents/bring_up_report.h"
#include "client/cli/base/table.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using enum TopologyLevel;

std::string Indent(size_t depth) { return std::string(2 * depth, ' '); }

// Writes the objects below one object, as a tree.
class TreeWriter {
 public:
  explicit TreeWriter(const Topology& topology) : topology_(topology) {}

  std::string Text() {
    Packages();
    return std::move(text_);
  }

 private:
  void Line(size_t depth, const std::string& what, size_t number,
            const CpuSet& cpus) {
    text_ += Indent(depth) + what + " " + std::to_string(number) + ": CPUs " +
             cpus.ToString() + "\n";
  }

  void Packages() {
    const std::vector<CpuSet>& packages = topology_.at(kPackage);
    if (packages.empty()) return Numas(1, topology_.cpus);
    for (size_t i = 0; i < packages.size(); ++i) {
      Line(1, "package", i, packages[i]);
      Numas(2, packages[i]);
    }
  }

  // A NUMA node that has several packages is below none of them.
  void Numas(size_t depth, const CpuSet& parent) {
    const std::vector<CpuSet>& numas = topology_.at(kNuma);
    bool any = false;
    for (size_t i = 0; i < numas.size(); ++i) {
      if (!parent.Contains(numas[i])) continue;
      any = true;
      Line(depth, "NUMA node", i, numas[i]);
      Cores(depth + 1, numas[i]);
    }
    if (!any) Cores(depth, parent);
  }

  void Cores(size_t depth, const CpuSet& parent) {
    const std::vector<CpuSet>& cores = topology_.at(kCore);
    for (size_t i = 0; i < cores.size(); ++i) {
      if (parent.Contains(cores[i])) Line(depth, "core", i, cores[i]);
    }
  }

  const Topology& topology_;
  std::string text_;
};

std::vector<std::string> NodesWith(const v1c::JobMapped& mapped,
                                   uint32_t position) {
  std::vector<std::string> names;
  for (const v1c::MapNode& node : mapped.nodes()) {
    if (node.topology() == position) names.push_back(node.name());
  }
  return names;
}

std::string Summary(const Topology& topology) {
  std::string text = Count(topology.Count(kPackage), "package") + ", " +
                     Count(topology.Count(kNuma), "NUMA node") + ", " +
                     Count(topology.Count(kCore), "core") + ", " +
                     Count(topology.Count(kHwthread), "hardware thread");
  if (!topology.gpus.empty()) {
    text += ", " + Count(topology.gpus.size(), "GPU");
  }
  if (topology.memory_bytes == 0) return text;
  return text + ", " + std::to_string(topology.memory_bytes >> 30) +
         " GiB of memory";
}

Json ObjectsJson(const std::vector<CpuSet>& objects) {
  Json out = Json::array();
  for (const CpuSet& object : objects) out.push_back(object.ToString());
  return out;
}

}  // namespace

std::vector<Topology> TopologiesOf(const v1c::JobMapped& mapped) {
  std::vector<Topology> topologies;
  for (const std::string& encoded : mapped.topologies()) {
    Result<Topology> topology = DecodeTopology(encoded);
    topologies.push_back(topology.ok() ? *std::move(topology) : Topology());
  }
  return topologies;
}

std::string TopologyText(const v1c::JobMapped& mapped) {
  const std::vector<Topology> topologies = TopologiesOf(mapped);
  std::string text;
  for (size_t i = 0; i < topologies.size(); ++i) {
    const auto position = static_cast<uint32_t>(i + 1);
    text += "topology of " + NodesText(NodesWith(mapped, position)) + ": " +
            Summary(topologies[i]) + "\n" + TreeWriter(topologies[i]).Text();
  }
  const std::vector<std::string> unknown = NodesWith(mapped, 0);
  if (unknown.empty()) return text;
  return text + "topology of " + NodesText(unknown) + ": not available\n";
}

Json TopologiesJson(const v1c::JobMapped& mapped) {
  const std::vector<Topology> topologies = TopologiesOf(mapped);
  Json out = Json::array();
  for (size_t i = 0; i < topologies.size(); ++i) {
    const Topology& topology = topologies[i];
    Json one;
    one["nodes"] = NodesWith(mapped, static_cast<uint32_t>(i + 1));
    one["packages"] = ObjectsJson(topology.at(kPackage));
    one["numa_nodes"] = ObjectsJson(topology.at(kNuma));
    one["cores"] = ObjectsJson(topology.at(kCore));
    one["cpus"] = topology.cpus.ToString();
    one["memory_mb"] = topology.memory_bytes >> 20;
    out.push_back(std::move(one));
  }
  return out;
}

std::string BindingPicture(const Topology& topology, const CpuSet& cpus) {
  if (topology.Count(kHwthread) > kMaxPictureCpus) return "";
  std::string picture;
  for (const CpuSet& package : topology.at(kPackage)) {
    std::string inside;
    for (const CpuSet& core : topology.at(kCore)) {
      if (!package.Contains(core)) continue;
      if (!inside.empty()) inside += '/';
      for (const uint32_t cpu : core.ToVector()) {
        inside += cpus.Has(cpu) ? 'B' : '.';
      }
    }
    picture += "[" + inside + "]";
  }
  return picture;
}

}  // namespace canopy::cli
