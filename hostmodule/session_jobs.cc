#include "hostmodule/session_jobs.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace canopy::host {
namespace {

std::vector<SessionJob::Run> RunsOf(const JobSpec& job) {
  std::vector<SessionJob::Run> runs;
  for (const ProcPlacement& proc : job.procs) {
    const NodeId agent = job.nodes[proc.node].agent;
    if (runs.empty() || runs.back().agent != agent) runs.push_back({agent, 0});
    ++runs.back().count;
  }
  return runs;
}

std::vector<SessionJob> Describe(const std::vector<const JobSpec*>& running) {
  std::vector<SessionJob> out;
  size_t runs = 0;
  for (const JobSpec* job : running) {
    out.push_back({job->nspace, job->nproc_offset, RunsOf(*job)});
    runs += out.back().runs.size();
    if (runs > kMaxSessionRuns) return {};
  }
  return out;
}

}  // namespace

void DescribeSession(const std::vector<MapNode>& nodes,
                     const std::vector<const JobSpec*>& running, JobSpec* job) {
  uint64_t slots = 0;
  for (const MapNode& node : nodes) slots += node.slots;
  // The user may have given the job more slots of a node than the node has.
  slots = std::clamp<uint64_t>(slots, job->max_procs, kRankValid);
  job->universe_size = static_cast<uint32_t>(slots);
  job->others = Describe(running);
}

}  // namespace canopy::host
