#include "common/job.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "common/wire.h"

namespace canopy {
namespace {

// The formats of a job, each with one more feature than the one before: the
// data of release 0.1, a place in its session, failure handling of its own,
// process sets, a scheduler's placement, forwarded streams, a debugger, named
// CPUs, and merged streams of some applications. An agent refuses a format that
// it does not know, so each job is encoded in the oldest format that holds all
// its data.
constexpr uint64_t kJobFormat = 2;
constexpr uint64_t kSessionFormat = 3;
constexpr uint64_t kFailureFormat = 4;
constexpr uint64_t kSetsFormat = 5;
constexpr uint64_t kPlacedFormat = 6;
constexpr uint64_t kForwardedFormat = 7;
constexpr uint64_t kDebugFormat = 8;
constexpr uint64_t kCpusFormat = 9;
constexpr uint64_t kMergedAppsFormat = 10;
// A map larger than this is refused rather than allocated.
constexpr uint64_t kMaxProcs = 1u << 26;

void PutApps(WireWriter& w, const std::vector<JobApp>& apps) {
  w.Uint(apps.size());
  for (const JobApp& app : apps) {
    w.String(app.cmd);
    w.Strings(app.argv);
    w.Strings(app.env);
    w.String(app.cwd);
    w.Uint(app.num_procs);
  }
}

std::vector<JobApp> GetApps(WireReader& r) {
  std::vector<JobApp> apps(r.Count(5));
  for (JobApp& app : apps) {
    app.cmd = r.String();
    app.argv = r.Strings();
    app.env = r.Strings();
    app.cwd = r.String();
    app.num_procs = r.Uint32();
  }
  return apps;
}

// Writes an application's part of the allocation, which is newer than release
// 0.1.
void PutAppPools(WireWriter& w, const std::vector<JobApp>& apps) {
  for (const JobApp& app : apps) {
    w.Strings(app.allocation);
    w.Uint(app.slots);
  }
}

void GetAppPools(WireReader& r, std::vector<JobApp>* apps) {
  for (JobApp& app : *apps) {
    app.allocation = r.Strings();
    app.slots = r.Uint32();
  }
}

void PutOthers(WireWriter& w, const std::vector<SessionJob>& jobs) {
  w.Uint(jobs.size());
  for (const SessionJob& job : jobs) {
    w.String(job.nspace);
    w.Uint(job.nproc_offset);
    w.Uint(job.runs.size());
    for (const SessionJob::Run& run : job.runs) {
      w.Uint(run.agent);
      w.Uint(run.count);
    }
  }
}

// Readers list every rank, so the total number of ranks is bounded too.
std::vector<SessionJob> GetOthers(WireReader& r) {
  std::vector<SessionJob> jobs(r.Count(3));
  uint64_t procs = 0;
  for (SessionJob& job : jobs) {
    job.nspace = r.String();
    job.nproc_offset = r.Uint32();
    job.runs.resize(r.Count(2));
    for (SessionJob::Run& run : job.runs) {
      run.agent = r.Uint32();
      run.count = r.Uint32();
      procs += run.count;
    }
    if (job.nspace.size() > kMaxNspaceLen || procs > kMaxProcs) r.Fail();
  }
  return jobs;
}

bool HasSet(const JobApp& app) { return !app.pset.empty(); }

bool HasPool(const JobApp& app) {
  return !app.allocation.empty() || app.slots != 0;
}

// Returns true if the job has properties that agents of release 0.1 do not
// know.
bool IsOfSession(const JobSpec& job) {
  return !job.rendezvous_host.empty() || job.nproc_offset != 0 ||
         !job.others.empty() || std::ranges::any_of(job.apps, HasPool);
}

void PutNodes(WireWriter& w, const std::vector<JobNode>& nodes) {
  w.Uint(nodes.size());
  for (const JobNode& node : nodes) {
    w.String(node.name);
    w.Strings(node.aliases);
    w.Uint(node.agent);
    w.Uint(node.slots);
    w.Uint(node.first_node_rank);
    w.Uint(node.other_procs);
  }
}

std::vector<JobNode> GetNodes(WireReader& r) {
  std::vector<JobNode> nodes(r.Count(6));
  for (JobNode& node : nodes) {
    node.name = r.String();
    node.aliases = r.Strings();
    node.agent = r.Uint32();
    node.slots = r.Uint32();
    node.first_node_rank = r.Uint32();
    node.other_procs = r.Uint32();
  }
  return nodes;
}

// CPU sets repeat from node to node, so they are written in a dictionary. Ranks
// are written as runs in which each rank is `step` nodes after its predecessor;
// thus a mapping by slot or by node takes at most one run for each node.
struct Run {
  uint32_t node;
  uint32_t app;
  uint32_t cpuset;
  uint32_t step;
  uint64_t count;
};

bool Extends(const Run& run, uint32_t node, uint32_t app, uint32_t cpuset) {
  return run.app == app && run.cpuset == cpuset &&
         node == run.node + run.step * run.count;
}

void PutProcs(WireWriter& w, const std::vector<ProcPlacement>& procs) {
  std::vector<std::string> dictionary;
  std::unordered_map<std::string, uint32_t> index;
  std::vector<Run> runs;
  for (const ProcPlacement& p : procs) {
    const auto [it, added] =
        index.try_emplace(p.cpuset, static_cast<uint32_t>(dictionary.size()));
    if (added) dictionary.push_back(p.cpuset);
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.count == 1 && p.node >= last.node) {
        last.step = p.node - last.node;
      }
      if (Extends(last, p.node, p.app, it->second)) {
        ++last.count;
        continue;
      }
      if (last.count == 1) last.step = 0;
    }
    runs.push_back({p.node, p.app, it->second, 0, 1});
  }
  w.Strings(dictionary);
  w.Uint(procs.size());
  w.Uint(runs.size());
  for (const Run& run : runs) {
    w.Uint(run.node);
    w.Uint(run.app);
    w.Uint(run.cpuset);
    w.Uint(run.step);
    w.Uint(run.count);
  }
}

bool AppendRun(const Run& run, const std::vector<std::string>& dictionary,
               const JobSpec& job, std::vector<ProcPlacement>* procs,
               uint64_t total) {
  if (run.cpuset >= dictionary.size() || run.app >= job.apps.size() ||
      run.count > total - procs->size()) {
    return false;
  }
  for (uint64_t i = 0; i < run.count; ++i) {
    const uint64_t node = run.node + uint64_t{run.step} * i;
    if (node >= job.nodes.size()) return false;
    procs->push_back(
        {static_cast<uint32_t>(node), run.app, dictionary[run.cpuset]});
  }
  return true;
}

void GetProcs(WireReader& r, JobSpec* job) {
  const std::vector<std::string> dictionary = r.Strings();
  const uint64_t total = r.Uint();
  const size_t runs = r.Count(5);
  if (!r.ok() || total > kMaxProcs) return r.Fail();
  for (size_t i = 0; i < runs; ++i) {
    Run run{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32(), r.Uint()};
    if (!r.ok() || !AppendRun(run, dictionary, *job, &job->procs, total)) {
      return r.Fail();
    }
  }
  if (job->procs.size() != total) r.Fail();
}

void PutOptions(WireWriter& w, const JobSpec& job) {
  w.Uint(job.universe_size);
  w.Strings(job.allocation);
  w.Uint(job.max_procs);
  w.String(job.map_by);
  w.String(job.rank_by);
  w.String(job.bind_to);
  w.Bool(job.oversubscribed);
  w.Bool(job.merge_stderr);
  w.Uint(static_cast<uint64_t>(job.stdin_target));
  w.Uint(job.stdin_rank);
  w.Uint(job.timeout_seconds);
  w.Proc(job.parent);
  w.Uint(job.kill_grace_seconds);
  w.Uint(static_cast<uint64_t>(job.inject));
}

void GetOptions(WireReader& r, JobSpec* job) {
  job->universe_size = r.Uint32();
  job->allocation = r.Strings();
  job->max_procs = r.Uint32();
  job->map_by = r.String();
  job->rank_by = r.String();
  job->bind_to = r.String();
  job->oversubscribed = r.Bool();
  job->merge_stderr = r.Bool();
  const uint64_t target = r.Uint();
  if (target > static_cast<uint64_t>(StdinTarget::kAll)) r.Fail();
  job->stdin_target = static_cast<StdinTarget>(target);
  job->stdin_rank = r.Uint32();
  job->timeout_seconds = r.Uint32();
  job->parent = r.Proc();
  job->kill_grace_seconds = r.Uint32();
  const uint64_t inject = r.Uint();
  if (inject > static_cast<uint64_t>(Inject::kNever)) r.Fail();
  job->inject = static_cast<Inject>(inject);
}

void PutStops(WireWriter& w, const StopRanks& ranks) {
  w.Bool(ranks.has_value());
  if (!ranks) return;
  w.Uint(ranks->size());
  for (const Rank rank : *ranks) w.Uint(rank);
}

StopRanks GetStops(WireReader& r) {
  if (!r.Bool()) return std::nullopt;
  std::vector<Rank> ranks(r.Count(1));
  for (Rank& rank : ranks) rank = r.Uint32();
  if (!std::ranges::is_sorted(ranks)) r.Fail();
  return ranks;
}

void PutDebug(WireWriter& w, const JobDebug& debug) {
  PutStops(w, debug.on_exec);
  PutStops(w, debug.in_init);
  PutStops(w, debug.in_app);
  w.Proc(debug.target);
}

JobDebug GetDebug(WireReader& r) {
  JobDebug debug;
  debug.on_exec = GetStops(r);
  debug.in_init = GetStops(r);
  debug.in_app = GetStops(r);
  debug.target = r.Proc();
  return debug;
}

bool NamesCpus(const JobSpec& job) {
  return job.cpus_per_proc != 0 || !job.cpu_list.empty();
}

bool MergesStderr(const JobApp& app) { return app.merge_stderr; }

uint64_t FormatOf(const JobSpec& job) {
  if (std::ranges::any_of(job.apps, MergesStderr)) return kMergedAppsFormat;
  if (NamesCpus(job)) return kCpusFormat;
  if (job.debug.any()) return kDebugFormat;
  if (job.forwarding != JobForwarding()) return kForwardedFormat;
  if (!job.host_job.empty()) return kPlacedFormat;
  if (std::ranges::any_of(job.apps, HasSet)) return kSetsFormat;
  if (job.max_restarts != 0 || job.recoverable || job.index_argv) {
    return kFailureFormat;
  }
  return IsOfSession(job) ? kSessionFormat : kJobFormat;
}

void PutForwarding(WireWriter& w, const JobForwarding& forwarding) {
  w.Uint(forwarding.channels);
  w.Uint(forwarding.cache_size);
  w.Bool(forwarding.keeps_oldest);
  w.Bool(forwarding.input);
}

JobForwarding GetForwarding(WireReader& r) {
  JobForwarding forwarding;
  const uint64_t channels = r.Uint();
  if (channels > UINT16_MAX) r.Fail();
  forwarding.channels = static_cast<uint16_t>(channels);
  forwarding.cache_size = r.Uint32();
  forwarding.keeps_oldest = r.Bool();
  forwarding.input = r.Bool();
  return forwarding;
}

// Writes the fields that formats after the first append.
void PutNewer(WireWriter& w, const JobSpec& job, uint64_t format) {
  if (format >= kSessionFormat) {
    w.String(job.rendezvous_host);
    w.Uint(job.nproc_offset);
    PutAppPools(w, job.apps);
    PutOthers(w, job.others);
  }
  if (format >= kFailureFormat) {
    w.Uint(job.max_restarts);
    w.Bool(job.recoverable);
    w.Bool(job.index_argv);
  }
  if (format >= kSetsFormat) {
    for (const JobApp& app : job.apps) w.String(app.pset);
  }
  if (format >= kPlacedFormat) w.String(job.host_job);
  if (format >= kForwardedFormat) PutForwarding(w, job.forwarding);
  if (format >= kDebugFormat) PutDebug(w, job.debug);
  if (format >= kCpusFormat) {
    w.Uint(job.cpus_per_proc);
    w.String(job.cpu_list);
  }
  if (format >= kMergedAppsFormat) {
    for (const JobApp& app : job.apps) w.Bool(app.merge_stderr);
  }
}

void GetNewer(WireReader& r, uint64_t format, JobSpec* job) {
  if (format >= kSessionFormat) {
    job->rendezvous_host = r.String();
    job->nproc_offset = r.Uint32();
    GetAppPools(r, &job->apps);
    job->others = GetOthers(r);
  }
  if (format >= kFailureFormat) {
    job->max_restarts = r.Uint32();
    job->recoverable = r.Bool();
    job->index_argv = r.Bool();
  }
  if (format >= kSetsFormat) {
    for (JobApp& app : job->apps) app.pset = r.String();
  }
  if (format >= kPlacedFormat) job->host_job = r.String();
  if (format >= kForwardedFormat) job->forwarding = GetForwarding(r);
  if (format >= kDebugFormat) job->debug = GetDebug(r);
  if (format >= kCpusFormat) {
    job->cpus_per_proc = r.Uint32();
    job->cpu_list = r.String();
  }
  if (format >= kMergedAppsFormat) {
    for (JobApp& app : job->apps) app.merge_stderr = r.Bool();
  }
}

}  // namespace

std::string EncodeJobSpec(const JobSpec& job) {
  WireWriter w;
  const uint64_t format = FormatOf(job);
  w.Uint(format);
  w.String(job.nspace);
  w.Uint(job.session_id);
  w.Uint(job.uid);
  w.Uint(job.gid);
  PutApps(w, job.apps);
  PutNodes(w, job.nodes);
  PutProcs(w, job.procs);
  w.Strings(job.env);
  w.String(job.cwd);
  PutOptions(w, job);
  PutNewer(w, job, format);
  return w.Take();
}

std::string EncodeJobSpecForRelease01(const JobSpec& job) {
  JobSpec known = job;
  known.nproc_offset = 0;
  known.others.clear();
  for (JobApp& app : known.apps) {
    app.allocation.clear();
    app.slots = 0;
    app.pset.clear();
  }
  known.max_restarts = 0;
  known.recoverable = false;
  known.host_job.clear();
  known.forwarding = {};
  known.cpus_per_proc = 0;
  known.cpu_list.clear();
  return EncodeJobSpec(known);
}

Result<JobSpec> DecodeJobSpec(std::string_view bytes) {
  WireReader r(bytes);
  const uint64_t format = r.Uint();
  if (format < kJobFormat || format > kMergedAppsFormat) {
    return Status(kErrUnpackFailure, "job map of an unknown format");
  }
  JobSpec job;
  job.nspace = r.String();
  job.session_id = r.Uint32();
  job.uid = r.Uint32();
  job.gid = r.Uint32();
  job.apps = GetApps(r);
  job.nodes = GetNodes(r);
  GetProcs(r, &job);
  job.env = r.Strings();
  job.cwd = r.String();
  GetOptions(r, &job);
  GetNewer(r, format, &job);
  if (!r.done() || job.nspace.empty() || job.nspace.size() > kMaxNspaceLen) {
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
