#include "hostmodule/mapper.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/request/slot_list.h"
#include "hostmodule/binder.h"
#include "hostmodule/gpu_assigner.h"
#include "hostmodule/map_policy.h"
#include "hostmodule/node_pool.h"
#include "hostmodule/placement.h"

namespace canopy::host {
namespace {

struct Policies {
  MapPolicy map;
  RankPolicy rank;
  BindPolicy bind;
  bool oversubscribe = false;
};

Result<Policies> ParsePolicies(const JobRequest& request) {
  Result<MapPolicy> map = ParseMapBy(request.places.map_by);
  if (!map.ok()) return map.status();
  Result<RankPolicy> rank = ParseRankBy(request.places.rank_by);
  if (!rank.ok()) return rank.status();
  Result<BindPolicy> bind = ParseBindTo(request.places.bind_to);
  if (!bind.ok()) return bind.status();
  Policies p{*map, *rank, *bind, false};
  p.map.no_local |= request.places.no_local;
  p.bind.overload_allowed |= p.map.overload_allowed;
  if (!p.bind.slots.empty() && (p.map.kind != MapPolicy::Kind::kSeq ||
                                p.rank.kind != RankPolicy::Kind::kAsMapped)) {
    return Status(kErrBadParam,
                  "--bind-to slots= has the CPUs of each rank, and needs "
                  "--map-by seq without --rank-by");
  }
  p.oversubscribe = p.map.oversubscribe.value_or(request.places.oversubscribe ||
                                                 request.places.tool);
  const TopologyLevel unit =
      p.map.hwthread_cpus ? TopologyLevel::kHwthread : TopologyLevel::kCore;
  if (p.map.pe > 1) {
    // Several CPUs per process are useful only if the process is bound to them.
    if (!p.bind.given) {
      p.bind.given = true;
      p.bind.level = unit;
    } else if (p.bind.level != TopologyLevel::kCore &&
               p.bind.level != TopologyLevel::kHwthread) {
      return Status(kErrBadParam, "pe=" + std::to_string(p.map.pe) +
                                      " binds to cores, which --bind-to " +
                                      ToString(p.bind) + " contradicts");
    } else if (p.bind.level == TopologyLevel::kHwthread) {
      p.map.hwthread_cpus = true;
    }
  }
  return p;
}

Status CheckApps(const JobRequest& request) {
  for (const JobApp& app : request.apps) {
    if (app.argv.empty() || app.argv[0].empty()) {
      return {kErrJobNoExeSpecified, "no program to run was given"};
    }
    if (app.num_procs == 0 && request.apps.size() > 1) {
      return {kErrBadParam, "with several programs, each needs its -n; " +
                                app.argv[0] + " has none"};
    }
  }
  if (request.apps.empty()) {
    return {kErrJobNoExeSpecified, "no program to run was given"};
  }
  return {};
}

// Returns the nodes that the job as a whole may use.
Result<std::vector<MapNode>> MakePool(const std::vector<MapNode>& nodes,
                                      const JobRequest& request,
                                      NodeId local_agent,
                                      const MapPolicy& map) {
  const bool no_local = map.no_local;
  // With seq the hosts are the places of processes, not the job's nodes.
  const bool seq = map.kind == MapPolicy::Kind::kSeq;
  Result<std::vector<PickedNode>> picked = PickNodes(
      nodes, seq ? std::vector<Host>() : request.places.hosts, local_agent);
  if (!picked.ok()) return picked.status();
  std::vector<MapNode> pool;
  for (const PickedNode& p : *picked) {
    if (no_local && nodes[p.node].agent == local_agent) continue;
    pool.push_back(nodes[p.node]);
    if (p.slots_given) pool.back().slots = p.slots;
    if (p.slots_given || request.places.tool) pool.back().slots_in_use = 0;
  }
  if (pool.empty()) {
    return Status(kErrJobInsufficientResources,
                  no_local ? "nolocal leaves no node to run on; add a node"
                           : "there is no node to run on");
  }
  return pool;
}

// Removes from the nodes all CPUs that are not in the list. Each node must have
// all CPUs of the list.
Status RestrictTo(const std::string& cpu_list, std::vector<MapNode>* pool) {
  if (cpu_list.empty()) return {};
  const Result<CpuSet> cpus = CpuSet::Parse(cpu_list);
  if (!cpus.ok()) return cpus.status();
  for (MapNode& node : *pool) {
    if (!node.topology) {
      return {kErrNotSupported, "node " + node.name +
                                    " does not report its CPUs, of which " +
                                    cpu_list + " were to be used"};
    }
    if (!node.topology->cpus.Contains(*cpus)) {
      return {kErrJobInsufficientResources,
              "node " + node.name + " has only CPUs " +
                  node.topology->cpus.ToString() + ", not all of " + cpu_list};
    }
    Topology restricted = Restrict(*node.topology, *cpus);
    node.topology = std::make_shared<const Topology>(std::move(restricted));
    node.is_confined = true;
  }
  return {};
}

Result<CpuSet> CpusOfSlots(const MapNode& node, const std::string& slots) {
  if (!node.topology) return Status(kErrNotSupported, "its CPUs are not known");
  const Result<std::vector<SlotPart>> parts = ParseSlotList(slots);
  if (!parts.ok()) return parts.status();
  return CpusOf(*parts, *node.topology);
}

std::vector<Host> WithoutLocal(const std::vector<MapNode>& nodes,
                               NodeId local_agent, std::vector<Host> hosts) {
  std::erase_if(hosts, [&](const Host& host) {
    return std::ranges::any_of(nodes, [&](const MapNode& node) {
      return node.agent == local_agent &&
             (node.name == host.name ||
              std::ranges::count(node.aliases, host.name) > 0);
    });
  });
  return hosts;
}

class JobMapper {
 public:
  JobMapper(const JobRequest& request, NodeId local_agent,
            const Policies& policies, std::vector<MapNode> pool)
      : request_(request),
        local_(local_agent),
        policies_(policies),
        pool_(std::move(pool)),
        by_app_(request.apps.size()),
        pools_(request.apps.size()) {}

  Status Place(const std::vector<MapNode>& all);
  Status Bind();
  // Called after Bind, since GPUs near a process's CPUs are preferred.
  Status AssignGpus();
  Status CheckMemory() const;
  // Restricts unbound processes to the CPUs of their node's topology.
  void Confine();
  Status Rank();
  Result<JobMap> Finish() &&;

 private:
  void AddGivenSlots(const std::vector<PickedNode>& picked);
  void KeepPool(uint32_t app, const std::vector<PickedNode>& picked);
  std::string DefaultBindingObstacle() const;
  bool TooManyForSlots() const;
  bool TooManyForCpus() const;
  Status BindAll(const BindPolicy& bind);
  Status BindToSlots(const BindPolicy& bind);
  void AddAllocation(JobMap* map) const;
  void AddNodes(JobMap* map) const;
  Status CheckInput() const;
  std::string RankText() const;

  const JobRequest& request_;
  const NodeId local_;
  const Policies policies_;
  std::vector<MapNode> pool_;
  std::vector<uint32_t> given_;  // slots that the user gave, by node
  std::vector<std::vector<Placed>> by_app_;
  std::vector<AppNodes> pools_;  // pools of applications with their own hosts
  std::vector<Placed> ranked_;
  BindPolicy bound_;  // the binding that was applied
  std::string unbound_reason_;
  size_t num_procs_ = 0;
};

Status JobMapper::Place(const std::vector<MapNode>& all) {
  Placer placer(
      pool_, policies_.map, policies_.oversubscribe,
      policies_.bind.level && !policies_.bind.overload_allowed,
      {request_.places.gpus_per_proc, request_.places.memory_per_proc});
  for (uint32_t i = 0; i < request_.apps.size(); ++i) {
    const JobApp& app = request_.apps[i];
    std::vector<Host> hosts = app.hosts;
    const bool seq = policies_.map.kind == MapPolicy::Kind::kSeq;
    if (seq && hosts.empty()) hosts = request_.places.hosts;
    if (policies_.map.no_local && !hosts.empty()) {
      hosts = WithoutLocal(all, local_, std::move(hosts));
      if (hosts.empty()) {
        return {kErrJobInsufficientResources,
                "nolocal leaves no node to run " + app.argv[0] + " on"};
      }
    }
    Result<std::vector<Placed>> placed = Status(kErrJobFailedToMap);
    if (seq) {
      Result<std::vector<uint32_t>> nodes = PickSequence(pool_, hosts, local_);
      if (!nodes.ok()) return nodes.status();
      placed = placer.PlaceSequence(i, app.num_procs, *nodes);
    } else {
      Result<std::vector<PickedNode>> nodes = PickNodes(pool_, hosts, local_);
      if (!nodes.ok()) return nodes.status();
      placed = placer.Place(i, app.num_procs, *nodes);
      AddGivenSlots(*nodes);
      if (!hosts.empty()) KeepPool(i, *nodes);
    }
    if (!placed.ok()) return placed.status();
    num_procs_ += placed->size();
    by_app_[i] = std::move(*placed);
  }
  return {};
}

// Records the slots that the user gives an application, which may be more than
// the node has.
void JobMapper::AddGivenSlots(const std::vector<PickedNode>& picked) {
  given_.resize(pool_.size());
  for (const PickedNode& p : picked) {
    if (!p.slots_given) continue;
    given_[p.node] += p.slots;
    pool_[p.node].slots = std::max(pool_[p.node].slots, given_[p.node]);
  }
}

// Records the nodes of an application with hosts of its own. All other
// applications use the job's pool.
void JobMapper::KeepPool(uint32_t app, const std::vector<PickedNode>& picked) {
  for (const PickedNode& p : picked) {
    pools_[app].names.push_back(pool_[p.node].name);
    pools_[app].slots += p.slots;
  }
}

bool JobMapper::TooManyForSlots() const {
  std::vector<uint32_t> count(pool_.size());
  for (const std::vector<Placed>& placed : by_app_) {
    for (const Placed& p : placed) ++count[p.node];
  }
  for (size_t i = 0; i < pool_.size(); ++i) {
    if (count[i] > pool_[i].slots) return true;
  }
  return false;
}

bool JobMapper::TooManyForCpus() const {
  std::map<std::string, std::pair<uint32_t, uint32_t>> machines;
  for (const std::vector<Placed>& placed : by_app_) {
    for (const Placed& p : placed) {
      const MapNode& node = pool_[p.node];
      if (!node.topology) continue;
      auto& [procs, cpus] = machines[MachineKey(node)];
      ++procs;
      cpus = node.topology->cpus.Count();
    }
  }
  return std::ranges::any_of(machines, [](const auto& machine) {
    return machine.second.first > machine.second.second;
  });
}

// Returns the reason why processes are not bound by default; empty if there is
// none.
std::string JobMapper::DefaultBindingObstacle() const {
  for (const std::vector<Placed>& placed : by_app_) {
    for (const Placed& p : placed) {
      const MapNode& node = pool_[p.node];
      if (!node.topology) return "the CPUs of " + node.name + " are unknown";
      if (node.unbound_procs > 0) {
        return node.name + " runs other jobs that are not bound";
      }
    }
  }
  std::map<std::string, uint32_t> nodes_on;
  for (const MapNode& node : pool_) {
    if (!node.machine.empty() && ++nodes_on[node.machine] > 1) {
      return "the nodes share a machine";
    }
  }
  if (TooManyForSlots()) return "more processes than slots";
  return TooManyForCpus() ? "more processes than CPUs" : "";
}

Status JobMapper::BindAll(const BindPolicy& bind) {
  Binder binder(pool_, bind, policies_.map.pe, policies_.map.hwthread_cpus);
  for (std::vector<Placed>& placed : by_app_) {
    for (Placed& p : placed) {
      Status s = binder.Bind(&p);
      if (s.code() == kErrNotSupported && bind.if_supported) continue;
      if (!s.ok()) return s;
    }
  }
  bound_ = bind;
  return {};
}

// The processes are in the order of their ranks, since hosts are taken in
// sequence.
Status JobMapper::BindToSlots(const BindPolicy& bind) {
  size_t rank = 0;
  for (std::vector<Placed>& placed : by_app_) {
    for (Placed& p : placed) {
      if (rank == bind.slots.size()) {
        return {kErrBadParam, "--bind-to slots= has no CPUs for rank " +
                                  std::to_string(rank)};
      }
      Result<CpuSet> cpus = CpusOfSlots(pool_[p.node], bind.slots[rank]);
      if (!cpus.ok()) {
        return {cpus.code(), "rank " + std::to_string(rank) + " on node " +
                                 pool_[p.node].name + ": " +
                                 cpus.status().message()};
      }
      p.cpus = *std::move(cpus);
      ++rank;
    }
  }
  bound_ = bind;
  return {};
}

Status JobMapper::Bind() {
  BindPolicy bind = policies_.bind;
  if (!bind.slots.empty()) return BindToSlots(bind);
  if (bind.given && bind.level) return BindAll(bind);
  unbound_reason_ = bind.given             ? "as requested"
                    : request_.places.tool ? "it is a tool"
                                           : DefaultBindingObstacle();
  if (!unbound_reason_.empty()) return {};
  // The default binding is optional, so a failure is not an error.
  using enum TopologyLevel;
  const std::vector<TopologyLevel> levels =
      num_procs_ <= 2 ? std::vector{kCore} : std::vector{kPackage, kNuma};
  for (const TopologyLevel level : levels) {
    bind.level = level;
    if (BindAll(bind).ok()) return {};
    for (std::vector<Placed>& placed : by_app_) {
      for (Placed& p : placed) p.cpus = CpuSet();
    }
  }
  unbound_reason_ = "no kind of object has enough CPUs for its processes";
  return {};
}

Status JobMapper::AssignGpus() {
  if (request_.places.gpus_per_proc == 0) return {};
  GpuAssigner assigner(pool_, request_.places.gpus_per_proc);
  for (std::vector<Placed>& placed : by_app_) {
    for (Placed& p : placed) {
      if (Status s = assigner.Assign(&p); !s.ok()) return s;
    }
  }
  return {};
}

// Checks that memory is not oversubscribed. Nodes emulated on one machine share
// its memory.
Status JobMapper::CheckMemory() const {
  const uint64_t per_proc = request_.places.memory_per_proc;
  if (per_proc == 0) return {};
  std::map<std::string, uint64_t> procs;  // by machine
  for (const std::vector<Placed>& placed : by_app_) {
    for (const Placed& p : placed) {
      const MapNode& node = pool_[p.node];
      const uint64_t free = FreeMemory(node);
      if (++procs[MachineKey(node)] <= free / per_proc) continue;
      return {kErrJobInsufficientResources,
              "not enough memory on node " + node.name + ": a process needs " +
                  MemoryText(per_proc) + ", and " + std::to_string(free >> 20) +
                  " MiB are not booked for others; start fewer processes "
                  "there, or book less with --memory-per-rank"};
    }
  }
  return {};
}

void JobMapper::Confine() {
  for (std::vector<Placed>& placed : by_app_) {
    for (Placed& p : placed) {
      const MapNode& node = pool_[p.node];
      if (p.cpus.empty() && node.is_confined) p.cpus = node.topology->cpus;
    }
  }
}

Status JobMapper::Rank() {
  for (const std::vector<Placed>& placed : by_app_) {
    Result<std::vector<Placed>> ordered =
        OrderByRank(pool_, policies_.map, policies_.rank, placed);
    if (!ordered.ok()) return ordered.status();
    ranked_.insert(ranked_.end(), ordered->begin(), ordered->end());
  }
  return {};
}

void JobMapper::AddNodes(JobMap* map) const {
  std::vector<uint32_t> index(pool_.size(), kNoNode);
  for (const Placed& p : ranked_) {
    if (index[p.node] == kNoNode) {
      const MapNode& node = pool_[p.node];
      index[p.node] = static_cast<uint32_t>(map->nodes.size());
      map->nodes.push_back({node.name, node.aliases, node.agent, node.slots});
    }
    map->procs.push_back({index[p.node], p.app, p.cpus.ToString()});
    if (!p.gpus.empty()) map->gpus.push_back(p.gpus);
  }
}

Status JobMapper::CheckInput() const {
  if (request_.stdin_target != StdinTarget::kRank ||
      request_.stdin_rank < num_procs_) {
    return {};
  }
  return {kErrBadParam,
          "standard input can go to none, all or one of the ranks 0 to " +
              std::to_string(num_procs_ - 1) + ", not to '" +
              std::to_string(request_.stdin_rank) + "'"};
}

std::string JobMapper::RankText() const {
  if (policies_.rank.kind == RankPolicy::Kind::kAsMapped) {
    if (policies_.map.kind == MapPolicy::Kind::kNode) return "node";
    if (policies_.map.span) return "span";
  }
  return ToString(policies_.rank);
}

void JobMapper::AddAllocation(JobMap* map) const {
  uint64_t slots = 0;
  for (const MapNode& node : pool_) {
    slots += node.slots;
    map->allocation.push_back(node.name);
  }
  slots = std::min<uint64_t>(slots, kRankValid);
  map->universe_size =
      static_cast<uint32_t>(std::max<uint64_t>(slots, num_procs_));
  map->max_procs = map->universe_size;
}

Result<JobMap> JobMapper::Finish() && {
  if (Status s = CheckInput(); !s.ok()) return s;
  JobMap map;
  AddNodes(&map);
  AddAllocation(&map);
  map.app_nodes = std::move(pools_);
  if (policies_.map.pe_given) map.cpus_per_proc = policies_.map.pe;
  map.map_by = ToString(policies_.map);
  map.rank_by = RankText();
  map.bind_to = ToString(bound_);
  map.unbound_reason = std::move(unbound_reason_);
  map.oversubscribed = TooManyForCpus() || TooManyForSlots();
  return map;
}

}  // namespace

Result<JobMap> MapJob(const std::vector<MapNode>& nodes,
                      const JobRequest& request, NodeId local_agent) {
  if (Status s = CheckApps(request); !s.ok()) return s;
  Result<Policies> policies = ParsePolicies(request);
  if (!policies.ok()) return policies.status();
  Result<std::vector<MapNode>> pool =
      MakePool(nodes, request, local_agent, policies->map);
  if (!pool.ok()) return pool.status();
  if (Status s = RestrictTo(request.places.cpu_list, &*pool); !s.ok()) return s;
  JobMapper mapper(request, local_agent, *policies, std::move(*pool));
  if (Status s = mapper.Place(nodes); !s.ok()) return s;
  if (Status s = mapper.Bind(); !s.ok()) return s;
  if (Status s = mapper.AssignGpus(); !s.ok()) return s;
  if (Status s = mapper.CheckMemory(); !s.ok()) return s;
  mapper.Confine();
  if (Status s = mapper.Rank(); !s.ok()) return s;
  return std::move(mapper).Finish();
}

}  // namespace canopy::host
