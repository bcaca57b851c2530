#include "common/job.h"

#include <algorithm>
#include <unordered_map>

#include "common/describe.h"
#include "common/describe_procs.h"

namespace canopy {
namespace {

using wire::Is;

// The form of an encoded job. An agent skips fields that it does not know, so a
// field without which a job would run wrongly needs a higher number here, which
// older agents refuse.
constexpr uint32_t kJobForm = 1;
// A map larger than this is refused rather than allocated.
constexpr uint64_t kMaxProcs = 1u << 26;

// The placements of a job's ranks, as columns of one table: in each run of
// ranks, a rank is `step` nodes after its predecessor, so a mapping by slot or
// by node takes at most one run for each node. CPU sets repeat from node to
// node, so they are in a dictionary.
struct PlacementRuns {
  std::vector<std::string> cpusets;
  std::vector<uint32_t> node;
  std::vector<uint32_t> app;
  std::vector<uint32_t> cpuset;  // index in `cpusets`
  std::vector<uint32_t> step;
  std::vector<uint32_t> count;
};

// A job and the encoded form of its placements. `Job` is JobSpec, or const
// JobSpec for encoding.
template <typename Job>
struct EncodedJob {
  uint32_t form = kJobForm;
  Job& job;
  PlacementRuns runs;
};

template <typename T>
concept AnyEncodedJob =
    Is<T, EncodedJob<JobSpec>> || Is<T, EncodedJob<const JobSpec>>;

void Append(const ProcPlacement& p, uint32_t cpuset, PlacementRuns* runs) {
  if (!runs->node.empty() && runs->app.back() == p.app &&
      runs->cpuset.back() == cpuset) {
    const uint32_t first = runs->node.back();
    uint32_t& step = runs->step.back();
    uint32_t& count = runs->count.back();
    if (count == 1 && p.node >= first) step = p.node - first;
    if (p.node == first + uint64_t{step} * count) {
      ++count;
      return;
    }
    if (count == 1) step = 0;
  }
  runs->node.push_back(p.node);
  runs->app.push_back(p.app);
  runs->cpuset.push_back(cpuset);
  runs->step.push_back(0);
  runs->count.push_back(1);
}

PlacementRuns RunsOf(const std::vector<ProcPlacement>& procs) {
  PlacementRuns runs;
  std::unordered_map<std::string_view, uint32_t> index;
  for (const ProcPlacement& p : procs) {
    const auto [it, added] =
        index.try_emplace(p.cpuset, static_cast<uint32_t>(index.size()));
    if (added) runs.cpusets.push_back(p.cpuset);
    Append(p, it->second, &runs);
  }
  return runs;
}

// Appends the ranks of a run. Returns false if it names something that the job
// does not have.
bool AddRun(const PlacementRuns& runs, size_t run, JobSpec* job) {
  const uint32_t count = runs.count[run];
  if (runs.cpuset[run] >= runs.cpusets.size() ||
      runs.app[run] >= job->apps.size() ||
      count > kMaxProcs - job->procs.size()) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t node = runs.node[run] + runs.step[run] * i;
    if (node >= job->nodes.size()) return false;
    job->procs.push_back({static_cast<uint32_t>(node), runs.app[run],
                          runs.cpusets[runs.cpuset[run]]});
  }
  return true;
}

bool AddRuns(const PlacementRuns& runs, JobSpec* job) {
  const size_t n = runs.node.size();
  if (runs.app.size() != n || runs.cpuset.size() != n ||
      runs.step.size() != n || runs.count.size() != n) {
    return false;
  }
  for (size_t run = 0; run < n; ++run) {
    if (!AddRun(runs, run, job)) return false;
  }
  return true;
}

template <typename V>
void Describe(V& v, Is<PlacementRuns> auto& m) {
  v.Field(1, m.cpusets);
  v.Field(2, m.node);
  v.Field(3, m.app);
  v.Field(4, m.cpuset);
  v.Field(5, m.step);
  v.Field(6, m.count);
}

// Readers list every rank of these jobs, so the number of ranks is bounded.
bool WithinLimits(const std::vector<SessionJob>& jobs) {
  uint64_t procs = 0;
  for (const SessionJob& job : jobs) {
    for (const SessionJob::Run& run : job.runs) procs += run.count;
    if (procs > kMaxProcs) return false;
  }
  return true;
}

bool InOrder(const StopRanks& ranks) {
  return !ranks.has_value() || std::ranges::is_sorted(*ranks);
}

bool Valid(const JobSpec& job) {
  return !job.nspace.empty() && WithinLimits(job.others) &&
         InOrder(job.debug.on_exec) && InOrder(job.debug.in_init) &&
         InOrder(job.debug.in_app);
}

}  // namespace

template <typename V>
void Describe(V& v, Is<JobApp> auto& m) {
  v.Field(1, m.cmd);
  v.Field(2, m.argv);
  v.Field(3, m.env);
  v.Field(4, m.cwd);
  v.Field(5, m.num_procs);
  v.Field(6, m.allocation);
  v.Field(7, m.slots);
  v.Field(8, m.pset);
  v.Field(9, m.merge_stderr);
}

template <typename V>
void Describe(V& v, Is<JobNode> auto& m) {
  v.Field(1, m.name);
  v.Field(2, m.aliases);
  v.Field(3, m.agent);
  v.Field(4, m.slots);
  v.Field(5, m.first_node_rank);
  v.Field(6, m.other_procs);
}

template <typename V>
void Describe(V& v, Is<SessionJob::Run> auto& m) {
  v.Field(1, m.agent);
  v.Field(2, m.count);
}

template <typename V>
void Describe(V& v, Is<SessionJob> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.nproc_offset);
  v.Field(3, m.runs);
}

template <typename V>
void Describe(V& v, Is<JobForwarding> auto& m) {
  v.Field(1, m.channels);
  v.Field(2, m.cache_size);
  v.Field(3, m.keeps_oldest);
  v.Field(4, m.input);
}

template <typename V>
void Describe(V& v, Is<JobDebug> auto& m) {
  v.Field(1, m.on_exec);
  v.Field(2, m.in_init);
  v.Field(3, m.in_app);
  v.Field(4, m.target);
}

template <typename V>
void Describe(V& v, AnyEncodedJob auto& m) {
  v.Bounded(2, m.job.nspace, kMaxNspaceLen);
  v.Field(3, m.job.session_id);
  v.Field(4, m.job.uid);
  v.Field(5, m.job.gid);
  v.Field(6, m.job.apps);
  v.Field(7, m.job.nodes);
  v.Field(8, m.runs);
  v.Field(9, m.job.env);
  v.Field(10, m.job.cwd);
  v.Field(11, m.job.universe_size);
  v.Field(12, m.job.allocation);
  v.Field(13, m.job.max_procs);
  v.Field(14, m.job.map_by);
  v.Field(15, m.job.rank_by);
  v.Field(16, m.job.bind_to);
  v.Field(17, m.job.oversubscribed);
  v.Field(18, m.job.merge_stderr);
  v.Choice(19, m.job.stdin_target, StdinTarget::kAll);
  v.Field(20, m.job.stdin_rank);
  v.Field(21, m.job.timeout_seconds);
  v.Choice(22, m.job.inject, Inject::kNever);
  v.Field(23, m.job.parent);
  v.Field(24, m.job.kill_grace_seconds);
  v.Field(25, m.job.nproc_offset);
  v.Field(26, m.job.rendezvous_host);
  v.Field(27, m.job.others);
  v.Field(28, m.job.max_restarts);
  v.Field(29, m.job.recoverable);
  v.Field(30, m.job.index_argv);
  v.Field(31, m.job.host_job);
  v.Field(32, m.job.forwarding);
  v.Field(33, m.job.debug);
  v.Field(34, m.job.cpus_per_proc);
  v.Field(35, m.job.cpu_list);
  v.Field(100, m.form);  // the last, so a truncated job has none
}

std::string EncodeJobSpec(const JobSpec& job) {
  return wire::Encode(
      EncodedJob<const JobSpec>{.job = job, .runs = RunsOf(job.procs)});
}

Result<JobSpec> DecodeJobSpec(std::string_view bytes) {
  Result<JobSpec> job = JobSpec();
  EncodedJob<JobSpec> encoded{.job = *job, .runs = {}};
  const bool read = wire::Decode(bytes, &encoded);
  if (read && encoded.form != kJobForm) {
    return Status(kErrUnpackFailure, "job map of an unknown form");
  }
  if (!read || !AddRuns(encoded.runs, &*job) || !Valid(*job)) {
    return Status(kErrUnpackFailure, "malformed job map");
  }
  return job;
}

JobLayout::JobLayout(const JobSpec& job)
    : numbers_(job.procs.size()),
      node_ranks_(job.nodes.size()),
      app_ranks_(job.apps.size()) {
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    const ProcPlacement& p = job.procs[rank];
    RankNumbers& n = numbers_[rank];
    n.app_rank = static_cast<uint32_t>(app_ranks_[p.app].size());
    n.local_rank = static_cast<uint16_t>(node_ranks_[p.node].size());
    n.node_rank =
        static_cast<uint16_t>(job.nodes[p.node].first_node_rank + n.local_rank);
    app_ranks_[p.app].push_back(rank);
    node_ranks_[p.node].push_back(rank);
  }
  for (uint32_t node = 0; node < job.nodes.size(); ++node) {
    nodes_by_agent_.push_back({job.nodes[node].agent, node});
  }
  std::ranges::sort(nodes_by_agent_);
}

uint32_t JobLayout::node_of_agent(NodeId agent) const {
  const auto it =
      std::ranges::lower_bound(nodes_by_agent_, agent, {}, &AgentNode::agent);
  return it == nodes_by_agent_.end() || it->agent != agent ? kNoNode : it->node;
}

const std::vector<Rank>& JobLayout::ranks_of_agent(NodeId agent) const {
  static const std::vector<Rank> none;
  const uint32_t node = node_of_agent(agent);
  return node == kNoNode ? none : node_ranks_[node];
}

Rank JobLayout::app_leader(uint32_t app) const {
  return app_ranks_[app].empty() ? kRankInvalid : app_ranks_[app].front();
}

}  // namespace canopy
