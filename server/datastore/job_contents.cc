#include "server/datastore/job_contents.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/datastore/keys.h"
#include "server/datastore/maps.h"
#include "server/datastore/proc_places.h"
#include "server/datastore/session_contents.h"

namespace canopy::datastore {
namespace {

// Variables in which batch systems pass the identifier of their own job to the
// programs of the job.
constexpr std::string_view kSchedulerIds[] = {
    "SLURM_JOB_ID=", "PBS_JOBID=", "LSB_JOBID="};

// Returns PMIX_JOBID: the identifier of the batch system's job, or else the
// namespace.
std::string JobId(const JobSpec& job) {
  for (const std::string_view name : kSchedulerIds) {
    for (const std::string& entry : job.env) {
      if (entry.starts_with(name) && entry.size() > name.size()) {
        return entry.substr(name.size());
      }
    }
  }
  return job.nspace;
}

// Adds the ranks that `key` stops, in the form that a debugger would use: the
// wildcard for all ranks, one rank, or a list.
void AddStop(const char* key, const std::string& nspace, const StopRanks& ranks,
             Keys* keys) {
  if (!ranks) return;
  if (ranks->size() < 2) {
    const Rank rank = ranks->empty() ? kRankWildcard : ranks->front();
    return keys->Add(key, Value::Rank(rank));
  }
  std::vector<ProcId> procs;
  for (const Rank rank : *ranks) procs.push_back({nspace, rank});
  keys->Add(key, Value::ProcArray(procs));
}

void AddDebugKeys(const JobSpec& job, Keys* keys) {
  const JobDebug& debug = job.debug;
  AddStop(PMIX_DEBUG_STOP_ON_EXEC, job.nspace, debug.on_exec, keys);
  AddStop(PMIX_DEBUG_STOP_IN_INIT, job.nspace, debug.in_init, keys);
  AddStop(PMIX_DEBUG_STOP_IN_APP, job.nspace, debug.in_app, keys);
  if (debug.target.nspace.empty()) return;
  keys->Add(PMIX_DEBUG_TARGET, Value::Proc(debug.target));
}

// Builds the content of a job's segment. Has the data that several levels need.
class Builder {
 public:
  Builder(const JobSpec& job, const JobLayout& layout, const NodeFacts& facts)
      : job_(job),
        layout_(layout),
        facts_(facts),
        self_(layout.node_of_agent(facts.self)),
        other_procs_(OtherProcs(job)),
        places_(job, facts) {
    for (const JobNode& node : job.nodes) names_.push_back(node.name);
    for (uint32_t n = 0; n < job.nodes.size(); ++n) {
      ranks_.push_back(layout.ranks_on(n));
    }
  }

  shm::SegmentContents Build();

 private:
  shm::KeyValues Job() const;
  shm::KeyValues App(uint32_t app) const;
  void AddAppNodes(uint32_t app, Keys* keys) const;
  void AddLocalProcs(uint32_t node, Keys* keys) const;
  void AddLocalKeys(uint32_t node, Keys* keys) const;
  shm::NodeContents Node(uint32_t node) const;
  shm::ProcContents Proc(Rank rank);
  std::string ProcIdPrefix() const;
  uint32_t MaxProcs() const {
    return job_.max_procs != 0 ? job_.max_procs
                               : static_cast<uint32_t>(job_.procs.size());
  }

  const JobSpec& job_;
  const JobLayout& layout_;
  const NodeFacts& facts_;
  const uint32_t self_;
  std::vector<std::string> names_;
  std::vector<std::vector<Rank>> ranks_;  // index: node
  const std::map<NodeId, std::vector<ProcId>> other_procs_;
  ProcPlaces places_;
};

shm::KeyValues Builder::Job() const {
  Keys keys;
  AddSessionKeys(job_, facts_, &keys);
  keys.Text(PMIX_NSPACE, job_.nspace);
  keys.Text(PMIX_JOBID, JobId(job_));
  keys.Number(PMIX_JOB_SIZE, job_.procs.size());
  keys.Number(PMIX_JOB_NUM_APPS, job_.apps.size());
  keys.Number(PMIX_MAX_PROCS, MaxProcs());
  keys.Number(PMIX_NUM_SLOTS, MaxProcs());
  keys.Add(PMIX_NPROC_OFFSET, Value::Rank(job_.nproc_offset));
  std::vector<std::string> commands;
  for (const JobApp& app : job_.apps) commands.push_back(Join(app.argv, ' '));
  keys.Text(PMIX_CMD_LINE, Join(commands, ':'));
  keys.Text(PMIX_NSDIR, JobDirectory(facts_, job_.nspace));
  AddMaps(names_, ranks_, &keys);
  keys.Text(PMIX_PROC_MAP_RAW, ProcMapRaw(ranks_));
  AddAllocation(job_.allocation, &keys);
  std::vector<uint32_t> node_of_rank;
  for (const ProcPlacement& p : job_.procs) node_of_rank.push_back(p.node);
  keys.Text(PMIX_ANL_MAP, ProcessMapping(node_of_rank));
  keys.Text(PMIX_MAPBY, job_.map_by);
  keys.Text(PMIX_RANKBY, job_.rank_by);
  keys.Text(PMIX_BINDTO, job_.bind_to);
  if (job_.cpus_per_proc > 0) {
    keys.Number(PMIX_CPUS_PER_PROC, job_.cpus_per_proc);
  }
  keys.Text(PMIX_CPU_LIST, job_.places.cpu_list);
  keys.Number(PMIX_MAX_RESTARTS, job_.max_restarts);
  if (!facts_.server.nspace.empty()) {
    keys.Text(PMIX_SERVER_NSPACE, facts_.server.nspace);
    keys.Add(PMIX_SERVER_RANK, Value::Rank(facts_.server.rank));
  }
  if (facts_.uri) keys.Text(PMIX_SERVER_URI, facts_.uri());
  if (!job_.parent.nspace.empty()) {
    keys.Add(PMIX_SPAWNED, Value::Bool(true));
    keys.Add(PMIX_PARENT_ID, Value::Proc(job_.parent));
  }
  AddDebugKeys(job_, &keys);
  if (self_ != kNoNode) AddLocalKeys(self_, &keys);
  return keys.Take();
}

void Builder::AddAppNodes(uint32_t app, Keys* keys) const {
  std::vector<std::string> names;
  std::vector<std::vector<Rank>> ranks;
  std::unordered_map<uint32_t, size_t> index;
  for (const Rank rank : layout_.ranks_of_app(app)) {
    const uint32_t node = job_.procs[rank].node;
    const auto [it, added] = index.try_emplace(node, names.size());
    if (added) {
      names.push_back(names_[node]);
      ranks.emplace_back();
    }
    ranks[it->second].push_back(rank);
  }
  AddMaps(names, ranks, keys);
  keys->Text(PMIX_APP_MAP_TYPE, job_.map_by);
  keys->Text(PMIX_APP_MAP_REGEX, ProcMapRegex(ranks));
}

shm::KeyValues Builder::App(uint32_t app) const {
  const JobApp& spec = job_.apps[app];
  const std::vector<Rank>& ranks = layout_.ranks_of_app(app);
  Keys keys;
  keys.Number(PMIX_APPNUM, app);
  keys.Number(PMIX_APP_SIZE, ranks.size());
  const AppNodes own =
      app < job_.app_nodes.size() ? job_.app_nodes[app] : AppNodes();
  const bool own_nodes = !own.names.empty();
  keys.Number(PMIX_MAX_PROCS, ranks.size());
  keys.Number(PMIX_NUM_SLOTS, own_nodes ? own.slots : MaxProcs());
  AddAllocation(own_nodes ? own.names : job_.allocation, &keys);
  if (!ranks.empty()) {
    keys.Add(PMIX_APPLDR, Value::Rank(layout_.app_leader(app)));
    AddAppNodes(app, &keys);
  }
  keys.Text(PMIX_APP_ARGV, Join(spec.argv, ' '));
  keys.Text(PMIX_WDIR, spec.cwd.empty() ? job_.cwd : spec.cwd);
  if (!spec.pset.empty()) {
    keys.Add(PMIX_PSET_NAMES, Value::StringArray({&spec.pset, 1}));
  }
  return keys.Take();
}

void Builder::AddLocalKeys(uint32_t node, Keys* keys) const {
  const std::vector<Rank>& ranks = ranks_[node];
  keys->Number(PMIX_LOCAL_SIZE, ranks.size());
  keys->Number(PMIX_NODE_SIZE, ranks.size() + job_.nodes[node].other_procs);
  if (ranks.empty()) return;
  keys->Text(PMIX_LOCAL_PEERS, RankList(ranks));
  keys->Add(PMIX_LOCALLDR, Value::Rank(ranks.front()));
  AddLocalProcs(node, keys);
  std::vector<std::string> cpusets;
  bool bound = false;
  for (const Rank rank : ranks) {
    cpusets.push_back(job_.procs[rank].cpuset);
    bound = bound || !cpusets.back().empty();
  }
  if (bound) keys->Add(PMIX_LOCAL_CPUSETS, Value::StringArray(cpusets));
}

// Adds the processes of the job, then those of other jobs.
void Builder::AddLocalProcs(uint32_t node, Keys* keys) const {
  std::vector<ProcId> procs;
  for (const Rank rank : ranks_[node]) procs.push_back({job_.nspace, rank});
  const auto others = other_procs_.find(job_.nodes[node].agent);
  if (others != other_procs_.end()) {
    procs.insert(procs.end(), others->second.begin(), others->second.end());
  }
  keys->Add(PMIX_LOCAL_PROCS, Value::ProcArray(procs));
}

shm::NodeContents Builder::Node(uint32_t node) const {
  const JobNode& spec = job_.nodes[node];
  shm::NodeContents contents;
  contents.name = spec.name;
  contents.id = spec.agent;
  contents.aliases = spec.aliases;
  contents.hostname = EncodedText(spec.name);
  Keys keys;
  keys.Text(PMIX_HOSTNAME, spec.name);
  keys.Text(PMIX_HOSTNAME_ALIASES, Join(spec.aliases, ','));
  keys.Number(PMIX_NODEID, spec.agent);
  AddLocalKeys(node, &keys);
  if (spec.slots != 0) {
    keys.Number(PMIX_NUM_SLOTS, spec.slots);
    keys.Number(PMIX_MAX_PROCS,
                std::max<size_t>(spec.slots, ranks_[node].size()));
    keys.Add(PMIX_NODE_OVERSUBSCRIBED,
             Value::Bool(ranks_[node].size() > spec.slots));
  }
  if (const SessionNode* known = facts_.NodeOf(spec.agent)) {
    if (known->memory_bytes != 0) {
      keys.Add(PMIX_AVAIL_PHYS_MEMORY, Value::Uint64(known->memory_bytes));
    }
    keys.Text(PMIX_TOPOLOGY_SIGNATURE, known->topology_signature);
  }
  contents.keys = keys.Take();
  return contents;
}

shm::ProcContents Builder::Proc(Rank rank) {
  const ProcPlacement& placement = job_.procs[rank];
  const RankNumbers& numbers = layout_.numbers(rank);
  shm::ProcContents proc;
  proc.node = placement.node;
  proc.app = placement.app;
  proc.app_rank = numbers.app_rank;
  proc.global_rank = job_.nproc_offset + rank;
  proc.local_rank = numbers.local_rank;
  proc.node_rank = numbers.node_rank;
  places_.Fill(placement.cpuset, &proc);
  if (proc.node == self_) {
    proc.procdir = EncodedText(ProcDirectory(facts_, job_.nspace, rank));
  }
  return proc;
}

std::string Builder::ProcIdPrefix() const {
  Encoder encoder;
  encoder.PutUint16(PMIX_PROC);
  encoder.PutString(job_.nspace);
  return encoder.Take();
}

shm::SegmentContents Builder::Build() {
  shm::SegmentContents contents;
  contents.nspace = job_.nspace;
  contents.proc_id_prefix = ProcIdPrefix();
  contents.self_node = self_;
  contents.session = SessionContents(job_, facts_);
  contents.job = Job();
  for (uint32_t a = 0; a < job_.apps.size(); ++a) {
    contents.apps.push_back(App(a));
  }
  for (uint32_t n = 0; n < job_.nodes.size(); ++n) {
    contents.nodes.push_back(Node(n));
  }
  contents.procs.reserve(job_.procs.size());
  for (Rank r = 0; r < job_.procs.size(); ++r) {
    contents.procs.push_back(Proc(r));
  }
  return contents;
}

}  // namespace

std::string JobDirectoryName(const std::string& nspace) {
  std::string name = nspace;
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.starts_with('.')) name[0] = '_';
  return name;
}

std::string JobDirectory(const NodeFacts& facts, const std::string& nspace) {
  if (facts.tmpdir.empty()) return "";
  return facts.tmpdir + "/" + JobDirectoryName(nspace);
}

std::string ProcDirectory(const NodeFacts& facts, const std::string& nspace,
                          Rank rank) {
  const std::string job = JobDirectory(facts, nspace);
  return job.empty() ? "" : job + "/" + std::to_string(rank);
}

shm::SegmentContents MakeContents(const JobSpec& job, const JobLayout& layout,
                                  const NodeFacts& facts) {
  return Builder(job, layout, facts).Build();
}

}  // namespace canopy::datastore
