#include "hostmodule/binder.h"

#include <algorithm>

#include "hostmodule/bookings.h"

namespace canopy::host {
namespace {

// Returns the number of processes that an object can have without overload.
uint32_t Capacity(const Topology& topology, TopologyLevel level,
                  const CpuSet& object, bool hwthread_cpus) {
  if (hwthread_cpus) return object.Count();
  if (level >= TopologyLevel::kCore) return 1;
  uint32_t cores = 0;
  for (const CpuSet& core : topology.at(TopologyLevel::kCore)) {
    if (object.Contains(core)) ++cores;
  }
  return std::max(cores, 1u);
}

// Returns the objects that intersect `locale`, the least loaded first.
std::vector<uint32_t> Candidates(const std::vector<CpuSet>& objects,
                                 const CpuSet& locale,
                                 const std::vector<uint32_t>& loads) {
  std::vector<uint32_t> candidates;
  for (uint32_t i = 0; i < objects.size(); ++i) {
    if (objects[i].Intersects(locale)) candidates.push_back(i);
  }
  std::ranges::stable_sort(candidates, {},
                           [&](uint32_t i) { return loads[i]; });
  return candidates;
}

Status Overloaded(const MapNode& node, const std::string& level) {
  return {kErrJobInsufficientResources,
          "binding to " + level +
              " would put more processes than CPUs "
              "on a " +
              level + " of node " + node.name +
              (node.bound.empty() ? "" : ", where other jobs are bound") +
              "; start fewer there, use --bind-to none, or allow it with "
              "--bind-to " +
              level + ":overload-allowed"};
}

}  // namespace

std::string MachineKey(const MapNode& node) {
  return node.machine.empty() ? "node " + std::to_string(node.agent)
                              : "machine " + node.machine;
}

Binder::Binder(const std::vector<MapNode>& pool, const BindPolicy& bind,
               uint32_t pe, bool hwthread_cpus)
    : pool_(pool), bind_(bind), pe_(pe), hwthread_cpus_(hwthread_cpus) {}

std::vector<uint32_t>& Binder::Loads(const MapNode& node) {
  const auto [loads, is_new] = loads_.try_emplace(MachineKey(node));
  if (is_new) {
    loads->second = BookedCpus(*node.topology, *bind_.level, node.bound);
  }
  return loads->second;
}

Status Binder::Bind(Placed* p) {
  const MapNode& node = pool_[p->node];
  const TopologyLevel level = *bind_.level;
  const std::string level_name(canopy::ToString(level));
  if (!node.topology || node.topology->Count(level) == 0) {
    return {kErrNotSupported, "node " + node.name + " shows no " + level_name +
                                  " to bind to; use --bind-to none"};
  }
  const Topology& topology = *node.topology;
  const std::vector<CpuSet>& objects = topology.at(level);
  std::vector<uint32_t>& loads = Loads(node);
  // A process that gets several CPUs needs more than the core or hardware
  // thread to which it is mapped.
  const bool confined =
      p->level && (pe_ == 1 || *p->level < TopologyLevel::kCore);
  const CpuSet& locale =
      confined ? topology.at(*p->level)[p->object] : topology.cpus;
  const std::vector<uint32_t> candidates = Candidates(objects, locale, loads);
  const bool enough =
      candidates.size() >= pe_ &&
      std::all_of(
          candidates.begin(), candidates.begin() + pe_, [&](uint32_t i) {
            return loads[i] <
                   Capacity(topology, level, objects[i], hwthread_cpus_);
          });
  if (!enough && (!bind_.overload_allowed || candidates.size() < pe_)) {
    return Overloaded(node, level_name);
  }
  for (uint32_t n = 0; n < pe_; ++n) {
    p->cpus |= objects[candidates[n]];
    ++loads[candidates[n]];
  }
  return {};
}

}  // namespace canopy::host
