// The head's record, its recovery in a successor, and the description of the
// nodes and processes for which the head waits.
#include <utility>

#include "server/core/job/head.h"

namespace canopy::core {

void JobHead::Persist(const JobStep& step) {
  Persist(step, part_.state() != JobPartState::kPreparing);
}

void JobHead::Persist(const JobStep& step, bool started) {
  if (!persistence_.enabled()) return;
  HeadRecord record;
  record.started = started;
  record.ending = ending_;
  record.kill_requests = kill_requests_;
  record.since = since_;
  record.timeout = timeout_;
  record.out_of_time = out_of_time_;
  record.failure = progress_.failure();
  record.expected = progress_.Expected();
  const std::set<NodeId>& lost = part_.place().lost();
  record.lost.assign(lost.begin(), lost.end());
  record.port = port_;
  record.limits = limits_;
  record.warn_at = warn_at_;
  persistence_.Persist(step, part_.nspace(), record);
}

void JobHead::Recover(const JobStep& step, const HeadRecord& record) {
  streams_.AwaitLauncher(step.now);
  ending_ = record.ending;
  kill_requests_ = record.kill_requests;
  since_ = record.since;
  timeout_ = record.timeout;
  out_of_time_ = record.out_of_time;
  limits_ = record.limits;
  warn_at_ = record.warn_at;
  std::optional<JobKill> kill;
  if (record.failure) {
    progress_.Fail(*record.failure);
    if (record.ending) {
      kill = JobKill{
          part_.nspace(), {}, record.failure->status, record.failure->text};
    }
  }
  port_ = record.port;
  part_.Recover(record.started, port_, std::move(kill));
  for (const Rank rank : record.expected) {
    if (rank < part_.spec()->procs.size()) progress_.ExpectEnd(rank);
  }
  const std::set<NodeId> lost = part_.place().lost();
  for (const NodeId node : lost) OnNodeLost(step, node, "");
}

bool JobHead::Describe(TimeNs now, Waiting* waiting) const {
  const std::vector<Rank> ranks = Awaited(&waiting->operation);
  if (waiting->operation.empty()) return false;
  const JobSpec& spec = *part_.spec();
  waiting->nspace = part_.nspace();
  waiting->age_ms = static_cast<uint64_t>(now - since_) / 1'000'000;
  for (const Rank rank : ranks) {
    if (waiting->missing.size() == kMaxMissing) break;
    const JobNode& node = spec.nodes[spec.procs[rank].node];
    waiting->missing.push_back({{part_.nspace(), rank}, node.agent, false});
  }
  waiting->more_missing = ranks.size() - waiting->missing.size();
  return true;
}

// Returns the ranks for which the job waits. During the launch, these are one
// rank of each node that has not answered.
std::vector<Rank> JobHead::Awaited(std::string* operation) const {
  const JobPartState state = part_.state();
  if (state == JobPartState::kPreparing || state == JobPartState::kStarting) {
    *operation = state == JobPartState::kPreparing
                     ? "launch, preparing the nodes"
                     : "launch, starting the processes";
    std::vector<Rank> out;
    const bool started = state == JobPartState::kStarting;
    for (const uint32_t node : part_.answers().Unanswered(started)) {
      out.push_back(part_.layout()->ranks_on(node).front());
    }
    return out;
  }
  if (progress_.all_ended()) {
    *operation = "the end of the job's output";
    return streams_.OpenRanks();
  }
  if (!ending_) return {};
  *operation = "the end of processes that were told to end";
  return progress_.Remaining();
}

}  // namespace canopy::core
