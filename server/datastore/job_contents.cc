#include "server/datastore/job_contents.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/datastore/maps.h"

namespace canopy::datastore {
namespace {

// Collects the keys of one level.
class Keys {
 public:
  void Add(const char* key, const Value& value) {
    std::string encoded = EncodeValue(value.raw());
    if (!encoded.empty()) keys_.emplace_back(key, std::move(encoded));
  }
  void Text(const char* key, const std::string& text) {
    if (!text.empty()) Add(key, Value::String(text));
  }
  void Number(const char* key, size_t number) {
    Add(key, Value::Uint32(static_cast<uint32_t>(number)));
  }
  shm::KeyValues Take() { return std::move(keys_); }

 private:
  shm::KeyValues keys_;
};

std::string EncodedText(const std::string& text) {
  return text.empty() ? "" : EncodeValue(Value::String(text).raw());
}

// One job and everything that several levels need of it.
class Builder {
 public:
  Builder(const JobSpec& job, const JobLayout& layout, const NodeFacts& facts)
      : job_(job),
        layout_(layout),
        facts_(facts),
        self_(layout.node_of_agent(facts.self)) {
    for (const JobNode& node : job.nodes) names_.push_back(node.name);
    for (uint32_t n = 0; n < job.nodes.size(); ++n) {
      ranks_.push_back(layout.ranks_on(n));
    }
  }

  shm::SegmentContents Build();

 private:
  void AddSessionKeys(Keys* keys) const;
  void AddAllocation(Keys* keys) const;
  shm::KeyValues Session() const;
  shm::KeyValues Job() const;
  shm::KeyValues App(uint32_t app) const;
  void AddAppNodes(uint32_t app, Keys* keys) const;
  void AddLocalKeys(uint32_t node, Keys* keys) const;
  shm::NodeContents Node(uint32_t node) const;
  shm::ProcContents Proc(Rank rank);
  void AddPlace(const std::string& cpuset, shm::ProcContents* proc);
  std::string ProcIdPrefix() const;
  uint32_t MaxProcs() const {
    return job_.max_procs != 0 ? job_.max_procs
                               : static_cast<uint32_t>(job_.procs.size());
  }

  // What follows from a cpuset; most ranks share theirs with another node's.
  struct Place {
    std::string cpuset;
    std::string bitmap;
    std::string locality;
    std::optional<uint32_t> package;
  };

  const JobSpec& job_;
  const JobLayout& layout_;
  const NodeFacts& facts_;
  const uint32_t self_;
  std::vector<std::string> names_;
  std::vector<std::vector<Rank>> ranks_;  // by node
  std::unordered_map<std::string, Place> places_;
  // Ranks so far on (node, package).
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> package_ranks_;
};

void Builder::AddSessionKeys(Keys* keys) const {
  keys->Number(PMIX_SESSION_ID, job_.session_id);
  keys->Number(PMIX_UNIV_SIZE, job_.universe_size);
  keys->Text(PMIX_CLUSTER_ID, facts_.cluster_id);
  keys->Text(PMIX_RM_NAME, facts_.rm_name);
  keys->Text(PMIX_RM_VERSION, facts_.rm_version);
  keys->Add(PMIX_HOSTNAME_KEEP_FQDN, Value::Bool(true));
  keys->Text(PMIX_TMPDIR, facts_.tmpdir);
  // The job's directory goes with all that is in it; see Datastore::DropJob.
  if (!facts_.tmpdir.empty()) {
    keys->Add(PMIX_TDIR_RMCLEAN, Value::Bool(true));
  }
}

void Builder::AddAllocation(Keys* keys) const {
  if (job_.allocation.empty()) return;
  keys->Number(PMIX_NUM_ALLOCATED_NODES, job_.allocation.size());
  keys->Text(PMIX_ALLOCATED_NODELIST, Join(job_.allocation, ','));
}

shm::KeyValues Builder::Session() const {
  Keys keys;
  AddSessionKeys(&keys);
  keys.Number(PMIX_MAX_PROCS, job_.universe_size);
  keys.Number(PMIX_NUM_SLOTS, job_.universe_size);
  keys.Number(PMIX_NUM_NODES, job_.nodes.size());
  keys.Text(PMIX_NODE_LIST, Join(names_, ','));
  AddAllocation(&keys);
  return keys.Take();
}

shm::KeyValues Builder::Job() const {
  Keys keys;
  AddSessionKeys(&keys);
  keys.Text(PMIX_NSPACE, job_.nspace);
  keys.Text(PMIX_JOBID, job_.nspace);
  keys.Number(PMIX_JOB_SIZE, job_.procs.size());
  keys.Number(PMIX_JOB_NUM_APPS, job_.apps.size());
  keys.Number(PMIX_MAX_PROCS, MaxProcs());
  keys.Number(PMIX_NUM_SLOTS, job_.universe_size);
  keys.Add(PMIX_NPROC_OFFSET, Value::Rank(job_.nproc_offset));
  std::vector<std::string> commands;
  for (const JobApp& app : job_.apps) commands.push_back(Join(app.argv, ' '));
  keys.Text(PMIX_CMD_LINE, Join(commands, ':'));
  keys.Text(PMIX_NSDIR, JobDirectory(facts_, job_.nspace));
  keys.Number(PMIX_NUM_NODES, job_.nodes.size());
  keys.Text(PMIX_NODE_LIST, Join(names_, ','));
  AddAllocation(&keys);
  keys.Text(PMIX_NODE_MAP, NodeMapRegex(names_));
  keys.Text(PMIX_NODE_MAP_RAW, Join(names_, ','));
  keys.Text(PMIX_PROC_MAP, ProcMapRegex(ranks_));
  keys.Text(PMIX_PROC_MAP_RAW, ProcMapRaw(ranks_));
  std::vector<uint32_t> node_of_rank;
  for (const ProcPlacement& p : job_.procs) node_of_rank.push_back(p.node);
  keys.Text(PMIX_ANL_MAP, ProcessMapping(node_of_rank));
  keys.Text(PMIX_MAPBY, job_.map_by);
  keys.Text(PMIX_RANKBY, job_.rank_by);
  keys.Text(PMIX_BINDTO, job_.bind_to);
  if (!facts_.server.nspace.empty()) {
    keys.Text(PMIX_SERVER_NSPACE, facts_.server.nspace);
    keys.Add(PMIX_SERVER_RANK, Value::Rank(facts_.server.rank));
  }
  if (!job_.parent.nspace.empty()) {
    keys.Add(PMIX_SPAWNED, Value::Bool(true));
    keys.Add(PMIX_PARENT_ID, Value::Proc(job_.parent));
  }
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
  keys->Number(PMIX_NUM_NODES, names.size());
  keys->Text(PMIX_NODE_LIST, Join(names, ','));
  keys->Text(PMIX_NODE_MAP, NodeMapRegex(names));
  keys->Text(PMIX_PROC_MAP, ProcMapRegex(ranks));
  keys->Text(PMIX_APP_MAP_TYPE, "pmix");
  keys->Text(PMIX_APP_MAP_REGEX, ProcMapRegex(ranks));
}

shm::KeyValues Builder::App(uint32_t app) const {
  const JobApp& spec = job_.apps[app];
  const std::vector<Rank>& ranks = layout_.ranks_of_app(app);
  Keys keys;
  keys.Number(PMIX_APPNUM, app);
  keys.Number(PMIX_APP_SIZE, ranks.size());
  keys.Number(PMIX_MAX_PROCS, ranks.size());
  if (!ranks.empty()) {
    keys.Add(PMIX_APPLDR, Value::Rank(layout_.app_leader(app)));
    AddAppNodes(app, &keys);
  }
  keys.Text(PMIX_APP_ARGV, Join(spec.argv, ' '));
  keys.Text(PMIX_WDIR, spec.cwd.empty() ? job_.cwd : spec.cwd);
  return keys.Take();
}

void Builder::AddLocalKeys(uint32_t node, Keys* keys) const {
  const std::vector<Rank>& ranks = ranks_[node];
  keys->Number(PMIX_LOCAL_SIZE, ranks.size());
  keys->Number(PMIX_NODE_SIZE, ranks.size() + job_.nodes[node].other_procs);
  if (ranks.empty()) return;
  keys->Text(PMIX_LOCAL_PEERS, RankList(ranks));
  keys->Add(PMIX_LOCALLDR, Value::Rank(ranks.front()));
  std::vector<ProcId> procs;
  std::vector<std::string> cpusets;
  bool bound = false;
  for (const Rank rank : ranks) {
    procs.push_back({job_.nspace, rank});
    cpusets.push_back(job_.procs[rank].cpuset);
    bound = bound || !cpusets.back().empty();
  }
  keys->Add(PMIX_LOCAL_PROCS, Value::ProcArray(procs));
  if (bound) keys->Add(PMIX_LOCAL_CPUSETS, Value::StringArray(cpusets));
}

shm::NodeContents Builder::Node(uint32_t node) const {
  const JobNode& spec = job_.nodes[node];
  shm::NodeContents contents;
  contents.name = spec.name;
  contents.aliases = spec.aliases;
  contents.hostname = EncodedText(spec.name);
  Keys keys;
  keys.Text(PMIX_HOSTNAME, spec.name);
  keys.Text(PMIX_HOSTNAME_ALIASES, Join(spec.aliases, ','));
  keys.Number(PMIX_NODEID, node);
  AddLocalKeys(node, &keys);
  if (spec.slots != 0) {
    keys.Number(PMIX_NUM_SLOTS, spec.slots);
    keys.Add(PMIX_NODE_OVERSUBSCRIBED,
             Value::Bool(ranks_[node].size() > spec.slots));
  }
  if (node == self_) {
    if (facts_.available_memory != 0) {
      keys.Add(PMIX_AVAIL_PHYS_MEMORY, Value::Uint64(facts_.available_memory));
    }
    keys.Text(PMIX_TOPOLOGY_SIGNATURE, facts_.topology_signature);
  }
  contents.keys = keys.Take();
  return contents;
}

void Builder::AddPlace(const std::string& cpuset, shm::ProcContents* proc) {
  const auto [it, added] = places_.try_emplace(cpuset);
  Place& place = it->second;
  if (added) {
    place.cpuset = EncodedText(cpuset);
    if (!cpuset.empty()) {
      // A PROC_CPUSET is its list on the wire.
      Encoder encoder;
      encoder.PutUint16(PMIX_PROC_CPUSET);
      encoder.PutString(cpuset);
      place.bitmap = encoder.Take();
    }
    if (facts_.locality) place.locality = EncodedText(facts_.locality(cpuset));
    if (facts_.package) place.package = facts_.package(cpuset);
  }
  proc->cpuset = place.cpuset;
  proc->cpuset_bitmap = place.bitmap;
  if (proc->node != self_) return;
  proc->locality = place.locality;
  if (place.package) {
    proc->package_rank = package_ranks_[{proc->node, *place.package}]++;
  }
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
  AddPlace(placement.cpuset, &proc);
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
  contents.session = Session();
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

std::string JobDirectory(const NodeFacts& facts, const std::string& nspace) {
  if (facts.tmpdir.empty()) return "";
  // A namespace may have any name; the directory stays below tmpdir.
  std::string name = nspace;
  std::replace(name.begin(), name.end(), '/', '_');
  if (name.starts_with('.')) name[0] = '_';
  return facts.tmpdir + "/" + name;
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
