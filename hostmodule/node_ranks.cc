#include "hostmodule/node_ranks.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace canopy::host {
namespace {

struct Run {
  uint32_t first;
  uint32_t count;
};

std::vector<uint32_t> CountsByNode(const JobSpec& job) {
  std::vector<uint32_t> counts(job.nodes.size());
  for (const ProcPlacement& proc : job.procs) ++counts[proc.node];
  return counts;
}

uint32_t LowestFree(std::vector<Run> taken, uint32_t count) {
  std::sort(taken.begin(), taken.end(),
            [](const Run& a, const Run& b) { return a.first < b.first; });
  uint32_t first = 0;
  for (const Run& run : taken) {
    if (run.first >= first + count) break;
    first = std::max(first, run.first + run.count);
  }
  return first;
}

}  // namespace

void NumberOnNodes(const std::vector<const JobSpec*>& running, JobSpec* job) {
  std::map<NodeId, std::vector<Run>> taken;
  for (const JobSpec* other : running) {
    const std::vector<uint32_t> counts = CountsByNode(*other);
    for (size_t i = 0; i < counts.size(); ++i) {
      const JobNode& node = other->nodes[i];
      taken[node.agent].push_back({node.first_node_rank, counts[i]});
    }
  }
  const std::vector<uint32_t> counts = CountsByNode(*job);
  for (size_t i = 0; i < counts.size(); ++i) {
    JobNode& node = job->nodes[i];
    const std::vector<Run>& others = taken[node.agent];
    node.first_node_rank = LowestFree(others, counts[i]);
    node.other_procs = 0;
    for (const Run& run : others) node.other_procs += run.count;
  }
}

}  // namespace canopy::host
