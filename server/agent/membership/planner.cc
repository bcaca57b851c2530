#include "server/agent/membership/planner.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "common/cpuset.h"
#include "common/gpu.h"
#include "common/hosts.h"
#include "common/job.h"
#include "common/job_debug.h"
#include "common/job_name.h"
#include "common/topology.h"
#include "hostmodule/binder.h"
#include "hostmodule/mapper.h"
#include "hostmodule/node_pool.h"
#include "hostmodule/node_ranks.h"
#include "hostmodule/session_jobs.h"
#include "server/agent/membership/debug_daemons.h"
#include "server/agent/membership/spawn_request.h"
#include "server/control/tool_record.h"
#include "server/ports/placement_port.h"
#include "server/spawn/environment.h"

namespace canopy::agent {
namespace {

// Returns the host of an address. In an overlay with one agent, the address is
// empty and the host is this machine.
std::string HostOf(const std::string& address) {
  const std::string host = HostOfAddress(address);
  return host.empty() ? "127.0.0.1" : host;
}

Status CheckNotLost(const JobRequest& request, const Membership& membership) {
  std::vector<Host> hosts = request.places.hosts;
  for (const JobApp& app : request.apps) {
    hosts.insert(hosts.end(), app.hosts.begin(), app.hosts.end());
  }
  for (const Host& host : hosts) {
    const std::string reason = membership.LostNode(host.name);
    if (reason.empty()) continue;
    return Status(kErrUnreach, "node '" + host.name + "' is down: " + reason +
                                   "; leave it out, or see 'canopy status'");
  }
  return Status();
}

bool NamesHosts(const spawn::Placing& placing) {
  return !placing.hosts.empty() || !placing.hostfile.empty();
}

// Returns the record of the job of a spawner, or a substitute for a tool.
control::JobRecord ParentOf(const control::Spawner& spawner,
                            const control::JobRecords& jobs) {
  const auto job = jobs.find(spawner.nspace);
  return job == jobs.end() ? control::ToolRecord(spawner) : job->second;
}

HostfileReader ReaderFor(const control::JobRecord& parent) {
  return [uid = parent.job->uid, gid = parent.job->gid](
             const std::string& path) { return ReadHostfile(path, uid, gid); };
}

bool IsOf(const host::MapNode& node, const std::string& name) {
  return node.name == name || std::ranges::count(node.aliases, name) > 0;
}

// Returns the number of slots that a user's list gives to a node. Returns 0 if
// the list does not limit them: it contains the node at most once, and without
// a count.
uint32_t SlotsNamed(const std::vector<Host>& hosts, const host::MapNode& node) {
  uint64_t counted = 0;
  uint32_t times = 0;  // mentions without a count
  bool is_counted = false;
  for (const Host& host : hosts) {
    if (!IsOf(node, host.name)) continue;
    is_counted |= host.slots_given;
    if (host.slots_given) {
      counted += host.slots;
    } else {
      ++times;
    }
  }
  if (!is_counted && times < 2) return 0;
  return static_cast<uint32_t>(std::min<uint64_t>(counted + times, UINT32_MAX));
}

// Removes hosts that were not granted from a user's list, and limits the
// remaining ones to the granted slots. Keeps entries such as "+e2", which the
// mapper resolves among the granted nodes.
void KeepGranted(const std::vector<host::MapNode>& nodes,
                 std::vector<Host>* hosts) {
  const std::vector<Host> named = *hosts;
  std::vector<Host> kept;
  for (Host host : named) {
    if (host.name.starts_with('+')) {
      kept.push_back(host);
      continue;
    }
    const auto node = std::ranges::find_if(
        nodes, [&](const auto& granted) { return IsOf(granted, host.name); });
    const bool again = std::ranges::any_of(kept, [&](const auto& other) {
      return node != nodes.end() && IsOf(*node, other.name);
    });
    if (node == nodes.end() || again) continue;
    const uint32_t slots = SlotsNamed(named, *node);
    host.slots = std::min(slots, node->slots);
    host.slots_given = slots != 0;
    kept.push_back(host);
  }
  *hosts = std::move(kept);
}

bool Names(const std::vector<Host>& hosts, const host::MapNode& node) {
  return hosts.empty() || std::ranges::any_of(hosts, [&](const auto& host) {
           return host.name.starts_with('+') || IsOf(node, host.name);
         });
}

// The hosts of an application replace those of the request.
const std::vector<Host>& HostsOf(const JobRequest& request, const JobApp& app) {
  return app.hosts.empty() ? request.places.hosts : app.hosts;
}

// Returns an error if the scheduler has granted a node that is not among the
// hosts that the user has named.
Status CheckHosts(const JobRequest& request,
                  const std::vector<host::MapNode>& nodes) {
  for (const host::MapNode& node : nodes) {
    const bool named = std::ranges::any_of(request.apps, [&](const auto& app) {
      return Names(HostsOf(request, app), node);
    });
    if (named) continue;
    return {kErrJobAllocFailed, "the scheduler has granted node '" + node.name +
                                    "', which is none of the job's hosts"};
  }
  for (const JobApp& app : request.apps) {
    const std::vector<Host>& hosts = HostsOf(request, app);
    const bool granted = std::ranges::any_of(
        nodes, [&](const auto& node) { return Names(hosts, node); });
    if (granted) continue;
    return {kErrJobAllocFailed,
            "the scheduler has granted none of the hosts '" + hosts[0].name +
                "'..."};
  }
  return {};
}

// Restricts a request to the granted nodes and the granted time limit.
Status KeepToGrant(const PlacementGrant& grant,
                   const std::vector<host::MapNode>& nodes,
                   JobRequest* request) {
  if (Status status = CheckHosts(*request, nodes); !status.ok()) return status;
  // A sequential mapping names the node of each process, so the hosts are kept.
  if (!request->places.map_by.starts_with("seq")) {
    KeepGranted(nodes, &request->places.hosts);
    for (JobApp& app : request->apps) KeepGranted(nodes, &app.hosts);
  }
  const uint32_t limit = grant.time_limit_seconds;
  if (limit != 0 &&
      (request->timeout_seconds == 0 || request->timeout_seconds > limit)) {
    request->timeout_seconds = limit;
  }
  spawn::Merge(grant.env, &request->env);
  return {};
}

// Restricts the node to the CPUs and GPUs that the job may use there. Returns
// the reason why the grant cannot be used, or an empty string.
std::string KeepResources(const GrantedNode& granted, host::MapNode* node) {
  if (granted.cpus.empty() && granted.gpus.empty()) return "";
  if (!node->topology) return "whose CPUs are unknown";
  Topology kept = *node->topology;
  if (!granted.cpus.empty()) {
    kept = Restrict(kept, granted.cpus);
    if (kept.cpus != granted.cpus) {
      return "with the CPUs " + granted.cpus.ToString() +
             ", of which it has only '" + kept.cpus.ToString() + "'";
    }
    node->is_confined = true;
  }
  if (!granted.gpus.empty()) {
    std::erase_if(kept.gpus, [&](const Gpu& gpu) {
      return std::ranges::count(granted.gpus, GpuName(gpu)) == 0;
    });
    if (kept.gpus.size() != granted.gpus.size()) {
      return "with a GPU that it does not have";
    }
  }
  node->topology = std::make_shared<const Topology>(std::move(kept));
  return "";
}

// Gives debugger daemons of root to the user of the job beside which they are
// placed, because they read what that user's processes have written.
void GiveToTarget(const control::JobRecords& jobs, JobSpec* job) {
  if (!job->daemons || job->uid != 0) return;
  const JobSpec& target = *jobs.at(job->daemons->target.nspace).job;
  job->uid = target.uid;
  job->gid = target.gid;
  job->user = target.user;
}

// Sets the environments of nodes that the scheduler has granted.
void SetEnvironments(const PlacementGrant& grant, std::vector<JobNode>* nodes) {
  std::map<std::string, const std::vector<std::string>*> by_name;
  for (const GrantedNode& node : grant.nodes) {
    if (!node.env.empty()) by_name[node.name] = &node.env;
  }
  if (by_name.empty()) return;
  for (JobNode& node : *nodes) {
    const auto granted = by_name.find(node.name);
    if (granted != by_name.end()) node.env = *granted->second;
  }
}

}  // namespace

Planner::Planner(const bootstrap::v1::Members& members, NodeId self,
                 uint32_t session_id)
    : self_(self), session_id_(session_id), instance_(std::random_device()()) {
  for (int i = 0; i < members.nodes_size(); ++i) {
    SetNode(static_cast<NodeId>(i), members.nodes(i));
  }
}

void Planner::SetNode(NodeId number, const bootstrap::v1::NodeInfo& info) {
  if (number > nodes_.size()) return;
  if (number == nodes_.size()) {
    nodes_.emplace_back();
    hosts_.emplace_back();
  }
  hosts_[number] = HostOf(info.address());
  host::MapNode& node = nodes_[number];
  node.name = info.name();
  node.aliases = {info.aliases().begin(), info.aliases().end()};
  node.agent = number;
  node.slots = info.slots();
  node.machine = info.machine();
  Result<Topology> topology = DecodeTopology(info.topology());
  if (topology.ok()) {
    node.topology = std::make_shared<const Topology>(*std::move(topology));
  }
}

void Planner::Book(const control::JobRecord& record, Bookings* bookings) const {
  const JobSpec& job = *record.job;
  std::vector<Booking*> on_node;
  for (const JobNode& node : job.nodes) {
    on_node.push_back(&(*bookings)[host::MachineKey(nodes_[node.agent])]);
  }
  for (const ProcPlacement& p : job.procs) {
    on_node[p.node]->memory += job.places.memory_per_proc;
    Result<CpuSet> cpus = CpuSet::Parse(p.cpuset);
    if (cpus.ok() && !cpus->empty()) {
      on_node[p.node]->bound.push_back(
          {*std::move(cpus), std::max(job.cpus_per_proc, 1u)});
    } else if (!record.facts.tool) {
      ++on_node[p.node]->unbound_procs;
    }
  }
  for (size_t rank = 0; rank < job.gpus.size(); ++rank) {
    std::vector<std::string>& gpus = on_node[job.procs[rank].node]->gpus;
    for (std::string& name : GpuNames(job.gpus[rank])) {
      gpus.push_back(std::move(name));
    }
  }
}

std::vector<host::MapNode> Planner::Nodes(const control::JobRecords& partners,
                                          const control::JobRecords& jobs,
                                          const Membership& membership,
                                          Away away) const {
  std::vector<uint32_t> used(nodes_.size());
  for (const auto& [nspace, record] : partners) {
    if (record.facts.tool) continue;
    for (const ProcPlacement& p : record.job->procs) {
      ++used[record.job->nodes[p.node].agent];
    }
  }
  Bookings bookings;
  for (const auto& [nspace, record] : jobs) Book(record, &bookings);
  std::vector<host::MapNode> nodes;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (!membership.up(node) || !membership.WhyDrained(node).empty()) continue;
    if (away == Away::kLeftOut && !membership.WhyAway(node).empty()) continue;
    nodes.push_back(nodes_[i]);
    nodes.back().slots_in_use = used[i];
    const Booking& booking = bookings[host::MachineKey(nodes_[i])];
    nodes.back().bound = booking.bound;
    nodes.back().unbound_procs = booking.unbound_procs;
    nodes.back().gpus_in_use = booking.gpus;
    nodes.back().memory_in_use = booking.memory;
  }
  return nodes;
}

std::vector<host::MapNode> Planner::AllNodes(
    const std::string& spawner, const control::JobRecords& jobs,
    const Membership& membership) const {
  std::vector<host::MapNode> all = nodes_;
  std::erase_if(all, [&](const host::MapNode& node) {
    return membership.removed(node.agent);
  });
  const std::vector<host::MapNode> usable = Nodes(jobs, jobs, membership);
  for (host::MapNode& node : all) {
    const auto found =
        std::ranges::find(usable, node.agent, &host::MapNode::agent);
    node.slots_in_use = found == usable.end() ? 1 : found->slots_in_use;
  }
  const auto parent = jobs.find(spawner);
  if (parent == jobs.end()) return all;
  std::vector<host::MapNode> own;
  for (const std::string& name : parent->second.job->allocation) {
    const auto node = std::ranges::find(all, name, &host::MapNode::name);
    if (node != all.end()) own.push_back(*node);
  }
  return own;
}

Status Planner::NameHosts(const std::string& spawner, bool empty,
                          const control::JobRecords& jobs,
                          const Membership& membership,
                          std::vector<Host>* hosts) const {
  if (!std::ranges::any_of(*hosts, &Host::relative)) return {};
  Result<std::vector<Host>> named =
      host::NameRelative(AllNodes(spawner, jobs, membership), *hosts, empty);
  if (!named.ok()) return named.status();
  *hosts = *std::move(named);
  return {};
}

Result<std::vector<host::MapNode>> Planner::GrantedNodes(
    const control::Placed& placed, const control::JobRecords& jobs,
    const Membership& membership) const {
  const auto refused = [](const std::string& node, const std::string& why) {
    return Status(kErrJobAllocFailed,
                  "the scheduler has granted node '" + node + "', " + why);
  };
  // Slots that jobs of the same request use count as occupied, because these
  // jobs share the grant.
  control::JobRecords partners;
  for (const auto& [nspace, record] : jobs) {
    if (record.facts.placed.id == placed.id) partners.emplace(nspace, record);
  }
  std::vector<host::MapNode> all =
      Nodes(partners, jobs, membership, Away::kIncluded);
  std::vector<host::MapNode> nodes;
  for (const GrantedNode& granted : placed.grant.nodes) {
    const auto node =
        std::ranges::find(all, granted.name, &host::MapNode::name);
    if (node == all.end()) {
      const std::string lost = membership.LostNode(granted.name);
      return refused(granted.name, lost.empty()
                                       ? "which is none that takes jobs"
                                       : "which is down: " + lost);
    }
    const std::string away = membership.WhyAway(node->agent);
    if (!away.empty()) return refused(granted.name, "and " + away);
    nodes.push_back(std::move(*node));
    nodes.back().slots = granted.slots;
    all.erase(node);
    const std::string why = KeepResources(granted, &nodes.back());
    if (!why.empty()) return refused(granted.name, why);
  }
  return nodes;
}

// Reserves the next ranks of the session for a job. Ranks above kRankValid have
// special meanings, so the offsets start again at 0 before a job would get such
// ranks. Jobs that a predecessor planned keep their offsets.
Rank Planner::TakeOffset(size_t procs,
                         const std::vector<const JobSpec*>& running) {
  for (const JobSpec* job : running) {
    const Rank end = job->nproc_offset + static_cast<Rank>(job->procs.size());
    next_offset_ = std::max(next_offset_, end);
  }
  if (next_offset_ + procs > kRankValid) next_offset_ = 0;
  return std::exchange(next_offset_, next_offset_ + static_cast<Rank>(procs));
}

// Returns the address at which other agents reach rank 0's node.
std::string Planner::HostOfRank0(const JobSpec& job) const {
  return hosts_[job.nodes[job.procs[0].node].agent];
}

Result<std::shared_ptr<const JobSpec>> Planner::Plan(
    JobRequest request, const control::Caller& caller,
    const control::Placed& placed, const control::JobRecords& jobs,
    const Membership& membership) {
  if (Status s = PlaceDaemons(jobs, caller.uid, &request); !s.ok()) return s;
  Result<std::vector<host::MapNode>> nodes =
      placed.grant.nodes.empty() ? FreeNodes(request, nullptr, jobs, membership)
                                 : GrantedNodes(placed, jobs, membership);
  if (!nodes.ok()) return nodes.status();
  if (!placed.grant.nodes.empty()) {
    const Status kept = KeepToGrant(placed.grant, *nodes, &request);
    if (!kept.ok()) return kept;
  }
  Result<JobSpec> job =
      Map(*nodes, std::move(request), placed, jobs, membership);
  if (!job.ok()) return job.status();
  job->nspace = placed.name.empty() ? placed.id.request : placed.name;
  job->uid = caller.uid;
  job->gid = caller.gid;
  job->user = caller.user;
  GiveToTarget(jobs, &*job);
  return std::make_shared<const JobSpec>(*std::move(job));
}

// Returns the nodes whose agents answer. If the job has no room on them, adds
// the other nodes that are up; the job then starts when their agents are back.
std::vector<host::MapNode> Planner::FreeNodes(
    const JobRequest& request, const JobSpec* parent,
    const control::JobRecords& jobs, const Membership& membership) const {
  std::vector<host::MapNode> nodes;
  for (const Away away : {Away::kLeftOut, Away::kIncluded}) {
    nodes = Nodes(jobs, jobs, membership, away);
    if (parent != nullptr) GiveSlots(*parent, &nodes);
    if (membership.AwayNodes().empty() ||
        host::MapJob(nodes, request, self_).ok()) {
      break;
    }
  }
  return nodes;
}

// Raises the slots of each node to the number that the parent job was launched
// with, which may be more than the node reports.
void Planner::GiveSlots(const JobSpec& parent,
                        std::vector<host::MapNode>* nodes) {
  for (host::MapNode& node : *nodes) {
    for (const JobNode& own : parent.nodes) {
      if (own.agent == node.agent) node.slots = std::max(node.slots, own.slots);
    }
  }
}

Result<std::shared_ptr<const JobSpec>> Planner::PlanSpawn(
    const spawn::SpawnCall& call, const control::Spawner& spawner,
    const control::Placed& placed, const control::JobRecords& jobs,
    const Membership& membership) {
  const control::JobRecord parent = ParentOf(spawner, jobs);
  Result<JobRequest> request = SpawnRequestOf(call, parent, ReaderFor(parent));
  if (!request.ok()) return request.status();
  std::vector<Host>& hosts = request->places.hosts;
  if (!NamesHosts(call.placing)) {
    std::erase_if(hosts, [&](const Host& host) {
      return !membership.LostNode(host.name).empty();
    });
  }
  if (Status s = PlaceDaemons(jobs, parent.job->uid, &*request); !s.ok()) {
    return s;
  }
  Result<std::vector<host::MapNode>> nodes =
      placed.grant.nodes.empty()
          ? FreeNodes(*request, parent.job.get(), jobs, membership)
          : GrantedNodes(placed, jobs, membership);
  if (!nodes.ok()) return nodes.status();
  if (!placed.grant.nodes.empty()) {
    // A request that names no hosts would be restricted to the parent's
    // allocation, which the grant replaces.
    if (!NamesHosts(call.placing)) hosts.clear();
    const Status kept = KeepToGrant(placed.grant, *nodes, &*request);
    if (!kept.ok()) return kept;
  }
  Result<JobSpec> job =
      Map(*nodes, *std::move(request), placed, jobs, membership);
  // If a host of the request is not a member of the overlay, the spawn fails
  // for lack of resources, because kErrNotFound would mean that a process was
  // not found.
  if (job.code() == kErrNotFound) {
    return Status(kErrJobAllocFailed, job.status().message());
  }
  if (!job.ok()) return job.status();
  job->nspace = NewNspace();
  job->uid = parent.job->uid;
  job->gid = parent.job->gid;
  job->user = parent.job->user;
  GiveToTarget(jobs, &*job);
  job->parent = spawner;
  return std::make_shared<const JobSpec>(*std::move(job));
}

Result<std::vector<Host>> Planner::MissingHosts(const spawn::SpawnCall& call,
                                                const ProcId& spawner,
                                                const control::JobRecords& jobs,
                                                const Membership& membership) {
  const control::JobRecord parent = ParentOf({spawner}, jobs);
  Result<std::vector<Host>> hosts = AddedHosts(call, parent, ReaderFor(parent));
  if (!hosts.ok()) return hosts;
  std::erase_if(*hosts, [&](const Host& host) {
    return host.relative() || membership.Find(host.name) != kNoNode;
  });
  return hosts;
}

Status Planner::Fits(const JobRequest& request, const control::JobRecords& jobs,
                     const Membership& membership, Away away) const {
  return host::MapJob(Nodes(jobs, jobs, membership, away), request, self_)
      .status();
}

std::shared_ptr<const Topology> Planner::TopologyOf(NodeId agent) const {
  const auto node = std::ranges::find(nodes_, agent, &host::MapNode::agent);
  return node == nodes_.end() ? nullptr : node->topology;
}

std::string Planner::NewNspace() { return JobName(instance_, next_job_++); }

Result<JobSpec> Planner::Map(const std::vector<host::MapNode>& nodes,
                             JobRequest request, const control::Placed& placed,
                             const control::JobRecords& jobs,
                             const Membership& membership) {
  if (Status status = CheckNotLost(request, membership); !status.ok()) {
    return status;
  }
  Result<JobMap> map = host::MapJob(nodes, request, self_);
  if (!map.ok()) return map.status();
  SetEnvironments(placed.grant, &map->nodes);
  JobSpec job = MakeJob(std::move(request), *std::move(map));
  job.session_id = session_id_;
  job.host_job = placed.grant.host_job;
  if (job.torch_env) job.rendezvous_host = HostOfRank0(job);
  std::vector<const JobSpec*> running;
  for (const auto& [nspace, record] : jobs) running.push_back(record.job.get());
  job.nproc_offset = TakeOffset(job.procs.size(), running);
  host::NumberOnNodes(running, &job);
  host::DescribeSession(nodes, running, &job);
  return job;
}

}  // namespace canopy::agent
