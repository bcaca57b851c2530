#include "common/job.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/job_description.h"

namespace canopy {
namespace {

using wire::Is;

// The form of an encoded job. An agent skips fields that it does not know. A
// field without which a job would run wrongly therefore needs a higher number
// here, which older agents refuse.
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

// A map and the encoded form of its placements. `Map` is JobMap, or const
// JobMap for encoding.
template <typename Map>
struct EncodedMap {
  Map& map;
  PlacementRuns runs;
};

template <typename T>
concept AnyEncodedMap =
    Is<T, EncodedMap<JobMap>> || Is<T, EncodedMap<const JobMap>>;

// A job in its parts.
template <typename Job, typename Request, typename Map>
struct EncodedJob {
  Job& job;
  Request& request;
  EncodedMap<Map> map;
  uint32_t form = kJobForm;
};
using JobToWrite = EncodedJob<const JobSpec, const JobRequest, const JobMap>;
using JobToRead = EncodedJob<JobSpec, JobRequest, JobMap>;

template <typename T>
concept AnyEncodedJob = Is<T, JobToWrite> || Is<T, JobToRead>;

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

// Appends the ranks of a run. Returns false if the run refers to something that
// the job does not have.
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

bool Valid(const JobSpec& job) {
  return !job.nspace.empty() && WithinLimits(job.others) &&
         (job.gpus.empty() || job.gpus.size() == job.procs.size()) &&
         InOrder(job.debug.on_exec) && InOrder(job.debug.in_init) &&
         InOrder(job.debug.in_app);
}

}  // namespace

template <typename V>
void Describe(V& v, Is<JobNode> auto& m) {
  v.Field(1, m.name);
  v.Field(2, m.aliases);
  v.Field(3, m.agent);
  v.Field(4, m.slots);
  v.Field(5, m.first_node_rank);
  v.Field(6, m.other_procs);
  v.Field(7, m.env);
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
void Describe(V& v, Is<AppNodes> auto& m) {
  v.Field(1, m.names);
  v.Field(2, m.slots);
}

namespace {

template <typename V>
void Describe(V& v, AnyEncodedMap auto& m) {
  v.Field(1, m.map.nodes);
  v.Field(2, m.runs);
  v.Field(3, m.map.allocation);
  v.Field(4, m.map.universe_size);
  v.Field(5, m.map.max_procs);
  v.Field(6, m.map.map_by);
  v.Field(7, m.map.rank_by);
  v.Field(8, m.map.bind_to);
  v.Field(9, m.map.unbound_reason);
  v.Field(10, m.map.oversubscribed);
  v.Field(11, m.map.cpus_per_proc);
  v.Field(12, m.map.app_nodes);
  v.Field(13, m.map.gpus);
}

template <typename V>
void Describe(V& v, AnyEncodedJob auto& m) {
  v.Bounded(1, m.job.nspace, kMaxNspaceLen);
  v.Field(2, m.job.session_id);
  v.Field(3, m.job.uid);
  v.Field(4, m.job.gid);
  v.Field(5, m.job.parent);
  v.Field(6, m.job.nproc_offset);
  v.Field(7, m.job.rendezvous_host);
  v.Field(8, m.job.others);
  v.Field(9, m.job.host_job);
  v.Field(10, m.request);
  v.Field(11, m.map);
  v.Field(12, m.job.user);
  v.Field(100, m.form);  // last: bytes that were cut short lack it
}

}  // namespace

std::string EncodeJobSpec(const JobSpec& job) {
  return wire::Encode(JobToWrite{job, job, {job, RunsOf(job.procs)}});
}

Result<JobSpec> DecodeJobSpec(std::string_view bytes) {
  Result<JobSpec> job = JobSpec();
  JobToRead encoded{*job, *job, {*job, {}}};
  const bool read = wire::Decode(bytes, &encoded);
  if (read && encoded.form != kJobForm) {
    return Status(kErrUnpackFailure, "job map of an unknown form");
  }
  if (!read || !AddRuns(encoded.map.runs, &*job) || !Valid(*job)) {
    return Status(kErrUnpackFailure, "malformed job map");
  }
  return job;
}

JobSpec MakeJob(JobRequest request, JobMap map) {
  JobSpec job;
  static_cast<JobRequest&>(job) = std::move(request);
  static_cast<JobMap&>(job) = std::move(map);
  for (JobApp& app : job.apps) {
    if (app.cmd.empty()) app.cmd = app.argv[0];
    app.num_procs = 0;
  }
  for (const ProcPlacement& proc : job.procs) ++job.apps[proc.app].num_procs;
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
