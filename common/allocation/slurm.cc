#include "common/allocation/slurm.h"

#include <algorithm>
#include <utility>

#include "common/name_ranges.h"
#include "common/string_util.h"

namespace canopy {
namespace {

Status NotANodeList(std::string_view text) {
  return Status(kErrBadParam,
                "'" + std::string(text.substr(0, 80)) +
                    "' is not a list of nodes as Slurm writes it");
}

std::string_view Text(char* value) {
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::optional<SlurmAllocation> FindSlurmAllocation(
    const std::function<char*(const char*)>& environment) {
  SlurmAllocation found;
  found.job_id = Text(environment("SLURM_JOB_ID"));
  found.node_list = Text(environment("SLURM_JOB_NODELIST"));
  if (found.job_id.empty() || found.node_list.empty()) return std::nullopt;
  found.tasks_per_node = Text(environment("SLURM_TASKS_PER_NODE"));
  found.cpus_per_node = Text(environment("SLURM_JOB_CPUS_PER_NODE"));
  // In a step, SLURM_TASKS_PER_NODE is the step's, but SLURM_JOB_NODELIST is
  // still the allocation's. srun --preserve-env, with which shells are started
  // in allocations, replaces neither.
  const auto step_nodes = Text(environment("SLURM_STEP_NODELIST"));
  const auto step_tasks = Text(environment("SLURM_STEP_TASKS_PER_NODE"));
  if (!step_nodes.empty() && !step_tasks.empty() &&
      found.tasks_per_node == step_tasks) {
    found.node_list = step_nodes;
  }
  return found;
}

Result<std::vector<std::string>> ExpandSlurmNodes(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : SplitOutsideBrackets(text)) {
    if (!ExpandNames(part, &names)) return NotANodeList(text);
  }
  return names;
}

Result<std::vector<uint32_t>> ExpandSlurmCounts(std::string_view text) {
  std::vector<uint32_t> counts;
  for (const std::string& part : Split(text, ',')) {
    const size_t open = part.find("(x");
    const auto count = ParseNumber(std::string_view(part).substr(0, open));
    std::optional<uint32_t> times = 1;
    if (open != std::string::npos) {
      times = part.ends_with(')')
                  ? ParseNumber(std::string_view(part).substr(
                                    open + 2, part.size() - open - 3),
                                kMaxListedNames)
                  : std::nullopt;
    }
    if (!count || !times || counts.size() + *times > kMaxListedNames) {
      return Status(kErrBadParam, "'" + std::string(text.substr(0, 80)) +
                                      "' is not a list of counts as Slurm "
                                      "writes it");
    }
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

Result<std::vector<Host>> SlurmHosts(const SlurmAllocation& allocation) {
  Result<std::vector<std::string>> names =
      ExpandSlurmNodes(allocation.node_list);
  if (!names.ok()) return names.status();
  std::vector<uint32_t> slots;
  for (const std::string* counts :
       {&allocation.tasks_per_node, &allocation.cpus_per_node}) {
    if (counts->empty() || !slots.empty()) continue;
    Result<std::vector<uint32_t>> expanded = ExpandSlurmCounts(*counts);
    if (!expanded.ok()) return expanded.status();
    slots = *std::move(expanded);
  }
  std::vector<Host> hosts;
  for (std::string& name : *names) {
    Host& host = hosts.emplace_back();
    host.name = std::move(name);
    host.slots_given = hosts.size() <= slots.size();
    if (host.slots_given) host.slots = slots[hosts.size() - 1];
  }
  return hosts;
}

std::string SlurmLaunchAgent(const SlurmAllocation& allocation) {
  // Without --unbuffered srun forwards complete lines only.
  return "srun --jobid=" + ShellQuoted(allocation.job_id) +
         " --overlap --nodes=1 --ntasks=1 --nodelist={host} --mpi=none"
         " --cpu-bind=none --quiet --unbuffered --kill-on-bad-exit=0"
         " --export=ALL";
}

}  // namespace canopy
