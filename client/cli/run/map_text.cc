#include "client/cli/run/map_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/run/topology_text.h"
#include "common/cpuset.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

// Returns the resource of which there is too little for the processes, or an
// empty text.
std::string Shortage(const v1c::JobMapped& mapped) {
  const bool slots =
      std::ranges::any_of(mapped.nodes(), [](const v1c::MapNode& node) {
        return static_cast<uint32_t>(node.procs_size()) > node.slots();
      });
  if (slots) return "more processes than slots";
  return mapped.oversubscribed() ? "more processes than CPUs" : "";
}

std::string Binding(const v1c::JobMapped& mapped) {
  if (!mapped.bind_to().empty() && mapped.bind_to() != "none") {
    return "bound to " + mapped.bind_to();
  }
  const std::string& reason = mapped.unbound_reason();
  return reason.empty() ? "not bound" : "not bound (" + reason + ")";
}

std::string Policies(const v1c::JobMapped& mapped) {
  std::string text = "mapped by " + mapped.map_by() + ", ranked by " +
                     mapped.rank_by() + ", " + Binding(mapped);
  const std::string shortage = Shortage(mapped);
  // The shortage may be the reason why the processes are not bound.
  if (shortage.empty() || shortage == mapped.unbound_reason()) return text;
  return text + ", " + shortage;
}

std::string RanksOn(const v1c::MapNode& node, bool with_apps) {
  std::map<uint32_t, std::vector<uint32_t>> by_app;
  for (const v1c::MapProc& proc : node.procs()) {
    by_app[with_apps ? proc.app() : 0].push_back(proc.rank());
  }
  std::string out;
  for (auto& [app, ranks] : by_app) {
    std::ranges::sort(ranks);
    if (!out.empty()) out += ", ";
    out += RangesText(ranks);
    if (with_apps) out += " (program " + std::to_string(app + 1) + ")";
  }
  return out;
}

bool HasSeveralApps(const v1c::JobMapped& mapped) {
  for (const v1c::MapNode& node : mapped.nodes()) {
    for (const v1c::MapProc& proc : node.procs()) {
      if (proc.app() != 0) return true;
    }
  }
  return false;
}

// Returns the picture of a process's CPUs, or an empty text if there is none.
std::string Picture(const std::vector<Topology>& topologies,
                    const v1c::MapNode& node, const v1c::MapProc& proc) {
  if (node.topology() == 0 || node.topology() > topologies.size()) return "";
  const Result<CpuSet> cpus = CpuSet::Parse(proc.cpuset());
  if (!cpus.ok() || cpus->empty()) return "";
  const std::string picture =
      BindingPicture(topologies[node.topology() - 1], *cpus);
  return picture.empty() ? "" : ": " + picture;
}

}  // namespace

std::string RangesText(std::span<const uint32_t> sorted) {
  std::string out;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!out.empty()) out += ",";
    out += std::to_string(sorted[i]);
    if (end - i > 1) out += "-" + std::to_string(sorted[end - 1]);
    i = end;
  }
  return out;
}

std::string MapText(const v1c::JobMapped& mapped) {
  const bool several = HasSeveralApps(mapped);
  Table table({"NODE", "SLOTS", "PROCESSES", "RANKS"});
  for (const v1c::MapNode& node : mapped.nodes()) {
    table.Add({node.name(), std::to_string(node.slots()),
               std::to_string(node.procs_size()), RanksOn(node, several)});
  }
  return "job " + mapped.nspace() + ": " +
         Count(mapped.num_procs(), "process") + " on " +
         Count(static_cast<uint64_t>(mapped.nodes_size()), "node") + ", " +
         Policies(mapped) + "\n" + table.ToString("  ");
}

std::string AllocationText(const v1c::JobMapped& mapped) {
  Table table({"NODE", "SLOTS"});
  uint64_t slots = 0;
  for (const v1c::MapNode& node : mapped.nodes()) {
    table.Add({node.name(), std::to_string(node.slots())});
    slots += node.slots();
  }
  return "allocation of job " + mapped.nspace() + ": " +
         Count(static_cast<uint64_t>(mapped.nodes_size()), "node") + ", " +
         Count(slots, "slot") + "\n" + table.ToString("  ");
}

std::string BindingsText(const v1c::JobMapped& mapped) {
  const std::vector<Topology> topologies = TopologiesOf(mapped);
  std::vector<std::string> lines(mapped.num_procs());
  for (const v1c::MapNode& node : mapped.nodes()) {
    for (const v1c::MapProc& proc : node.procs()) {
      if (proc.rank() >= lines.size()) continue;
      lines[proc.rank()] =
          "rank " + std::to_string(proc.rank()) + " on " + node.name() +
          (proc.cpuset().empty() ? " is not bound"
                                 : " is bound to CPUs " + proc.cpuset()) +
          Picture(topologies, node, proc) +
          (proc.gpus().empty() ? "" : " and has GPUs " + proc.gpus()) + "\n";
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace canopy::cli
