// What jobs controlled here wait for.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/core/job_engine.h"
#include "server/core/why.h"

namespace canopy::core {

void JobEngine::Describe(TimeNs now, const std::string& nspace,
                         std::vector<Waiting>* out) const {
  for (const auto& [name, job] : jobs_) {
    if (!job->head || (!nspace.empty() && name != nspace)) continue;
    Waiting waiting;
    const std::vector<Rank> ranks = AwaitedOf(*job, &waiting.operation);
    if (waiting.operation.empty()) continue;
    waiting.nspace = name;
    waiting.age_ms = static_cast<uint64_t>(now - job->head->since) / 1'000'000;
    for (const Rank rank : ranks) {
      if (waiting.missing.size() == kMaxMissing) break;
      const JobNode& node = job->spec->nodes[job->spec->procs[rank].node];
      waiting.missing.push_back({{name, rank}, node.agent, false});
    }
    waiting.more_missing = ranks.size() - waiting.missing.size();
    out->push_back(std::move(waiting));
  }
}

std::vector<Rank> JobEngine::AwaitedOf(const JobState& job,
                                       std::string* operation) const {
  const JobHead& head = *job.head;
  if (job.stage == LaunchStage::kPreparing) {
    *operation = "launch, preparing the nodes";
    return AwaitedIn(job, job.prepare);
  }
  if (job.stage == LaunchStage::kStarting) {
    *operation = "launch, starting the processes";
    return AwaitedIn(job, job.start);
  }
  if (head.progress.all_ended()) {
    *operation = "the end of the job's output";
    return head.progress.WithOpenStreams();
  }
  if (head.ending) {
    *operation = "the end of processes that were told to end";
    return head.progress.Remaining();
  }
  return {};
}

// One rank for each node that has not answered.
std::vector<Rank> JobEngine::AwaitedIn(const JobState& job,
                                       const LaunchPhase& phase) const {
  std::vector<Rank> out;
  for (uint32_t node = 0; node < job.spec->nodes.size(); ++node) {
    const NodeId agent = job.spec->nodes[node].agent;
    if (job.lost.contains(agent) || job.layout->ranks_on(node).empty()) {
      continue;
    }
    const NodeId hop = agent == self_ ? self_ : tree_.NextHop(self_, agent);
    if (!phase.Answered(hop)) out.push_back(job.layout->ranks_on(node).front());
  }
  return out;
}

}  // namespace canopy::core
