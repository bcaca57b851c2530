#include "hostmodule/placement.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "hostmodule/bookings.h"

namespace canopy::host {
namespace {

// The largest number of processes of a job.
constexpr uint32_t kMaxProcs = 1u << 20;

std::string Count(uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// Returns the number of CPUs of a node, as pe=N counts them.
uint32_t CpusOn(const MapNode& node, const MapPolicy& policy) {
  if (!node.topology) return 0;
  return node.topology->Count(policy.hwthread_cpus ? TopologyLevel::kHwthread
                                                   : TopologyLevel::kCore);
}

}  // namespace

std::string MemoryText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + kUnits[unit];
}

Placer::Placer(const std::vector<MapNode>& pool, const MapPolicy& policy,
               bool oversubscribe, bool cpus_limit, ProcNeeds needs)
    : pool_(pool),
      policy_(policy),
      oversubscribe_(oversubscribe),
      cpus_limit_(cpus_limit),
      needs_(needs),
      used_(pool.size()) {}

uint64_t Placer::Suffices(const MapNode& node) const {
  uint64_t procs = UINT64_MAX;
  if (cpus_limit_ && policy_.pe > 1 && node.topology) {
    procs = CpusOn(node, policy_) / policy_.pe;
  }
  if (needs_.gpus > 0)
    procs = std::min(procs, FreeGpus(node).size() / needs_.gpus);
  if (needs_.memory > 0)
    procs = std::min(procs, FreeMemory(node) / needs_.memory);
  return procs;
}

uint32_t Placer::RoomOn(const PickedNode& picked) const {
  uint32_t room = picked.slots;
  // Slots that the user gave this application are not shared with others.
  if (!picked.slots_given) room -= std::min(room, used_[picked.node]);
  const uint64_t fits = Suffices(pool_[picked.node]);
  const uint64_t used = used_[picked.node];
  return static_cast<uint32_t>(
      std::min<uint64_t>(room, fits - std::min(fits, used)));
}

std::vector<uint32_t> Placer::OrderOn(const MapNode& node) const {
  if (node.bound.empty()) return {};
  const std::vector<uint32_t> booked =
      BookedCpus(*node.topology, *policy_.level, node.bound);
  std::vector<uint32_t> order(booked.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return booked[i]; });
  return order;
}

Result<std::vector<Placer::Use>> Placer::Uses(
    const std::vector<PickedNode>& nodes) const {
  std::vector<Use> uses;
  for (const PickedNode& picked : nodes) {
    Use use{picked.node, RoomOn(picked), 1, 0, {}};
    if (policy_.level) {
      const MapNode& node = pool_[picked.node];
      use.objects = node.topology ? node.topology->Count(*policy_.level) : 0;
      if (use.objects == 0) {
        const std::string level(canopy::ToString(*policy_.level));
        return Status(kErrJobFailedToMap,
                      "node " + node.name + " shows no " + level +
                          " to map by; use --map-by slot or node");
      }
      use.order = OrderOn(node);
    }
    uses.push_back(use);
  }
  return uses;
}

Status Placer::CheckRoom(uint32_t num_procs, uint64_t room,
                         size_t nodes) const {
  if (num_procs > kMaxProcs) {
    return {kErrBadParam, Count(num_procs, "process", "processes") +
                              " in one job are more than this can map"};
  }
  if (num_procs <= room || oversubscribe_) return {};
  std::string text =
      "not enough slots: " + Count(num_procs, "process", "processes") +
      " asked for, " + Count(room, "slot", "slots") + " free on " +
      Count(nodes, "node", "nodes");
  uint64_t in_use = 0;
  for (const MapNode& node : pool_) in_use += node.slots_in_use;
  if (in_use > 0) {
    text += " (" + std::to_string(in_use) + " used by other jobs)";
  }
  if (policy_.pe > 1 && cpus_limit_) {
    text += " with " + std::to_string(policy_.pe) + " CPUs for each process";
  }
  if (needs_.gpus > 0) {
    text += " with " + Count(needs_.gpus, "GPU", "GPUs") + " for each process";
  }
  if (needs_.memory > 0) {
    text +=
        " with " + MemoryText(needs_.memory) + " of memory for each process";
  }
  return {kErrJobInsufficientResources,
          text + "; start fewer, add nodes or slots, or use --oversubscribe"};
}

void Placer::Put(uint32_t app, Use* use) {
  Placed p;
  p.node = use->node;
  p.app = app;
  if (policy_.level) {
    p.level = policy_.level;
    p.object = use->Object(use->placed % use->objects);
  }
  placed_.push_back(std::move(p));
  ++use->placed;
  ++used_[use->node];
}

void Placer::FillNodes(uint32_t app, uint32_t num_procs,
                       std::vector<Use>* uses) {
  uint32_t left = num_procs;
  for (Use& use : *uses) {
    for (; left > 0 && use.placed < use.room; --left) Put(app, &use);
  }
  // The processes that exceed the slots are spread evenly over the nodes.
  const auto nodes = static_cast<uint32_t>(uses->size());
  const uint32_t share = left / nodes;
  const uint32_t rest = left % nodes;
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t n = share + (i < rest ? 1 : 0); n > 0; --n) {
      Put(app, &(*uses)[i]);
    }
  }
}

void Placer::RoundRobin(uint32_t app, uint32_t num_procs,
                        std::vector<Use>* uses) {
  // When processes are mapped by node, each node in turn gets one. When they
  // are mapped by object with span, each object of all nodes in turn gets one.
  // Full nodes are skipped until all nodes are full.
  uint32_t left = num_procs;
  bool full = false;
  while (left > 0) {
    const uint32_t before = left;
    for (Use& use : *uses) {
      for (uint32_t i = 0; i < use.objects && left > 0; ++i) {
        if (!full && use.placed >= use.room) break;
        Put(app, &use);
        --left;
      }
    }
    if (left == before) full = true;
  }
}

Status Placer::PerResource(uint32_t app, uint32_t num_procs,
                           std::vector<Use>* uses) {
  uint64_t room = 0;
  for (const Use& use : *uses) {
    room += uint64_t{use.objects} * policy_.per_resource;
  }
  if (num_procs > room || room > kMaxProcs) {
    return {kErrJobInsufficientResources,
            "--map-by " + ToString(policy_) + " makes room for " +
                Count(room, "process", "processes") + " on " +
                Count(uses->size(), "node", "nodes") + ", and " +
                std::to_string(num_procs) +
                " are asked for; raise the number per resource or add nodes"};
  }
  uint64_t left = num_procs > 0 ? num_procs : room;
  for (Use& use : *uses) {
    const uint64_t here =
        std::min<uint64_t>(left, uint64_t{use.objects} * policy_.per_resource);
    if (here > use.room && !oversubscribe_) {
      return {kErrJobInsufficientResources,
              "--map-by " + ToString(policy_) + " puts " +
                  Count(here, "process", "processes") + " on node " +
                  pool_[use.node].name + ", which has " +
                  Count(use.room, "free slot", "free slots") +
                  "; start fewer or use --oversubscribe"};
    }
    for (uint64_t i = 0; i < here; ++i) {
      Put(app, &use);
      if (policy_.level) {
        placed_.back().object = use.Object(i / policy_.per_resource);
      }
    }
    left -= here;
  }
  return {};
}

Result<std::vector<Placed>> Placer::Place(
    uint32_t app, uint32_t num_procs, const std::vector<PickedNode>& nodes) {
  placed_.clear();
  Result<std::vector<Use>> uses = Uses(nodes);
  if (!uses.ok()) return uses.status();
  if (policy_.kind == MapPolicy::Kind::kPpr) {
    if (Status s = PerResource(app, num_procs, &*uses); !s.ok()) return s;
    return std::move(placed_);
  }
  uint64_t room = 0;
  for (const Use& use : *uses) room += use.room;
  if (num_procs == 0) {
    num_procs = static_cast<uint32_t>(std::min<uint64_t>(room, kMaxProcs));
  }
  if (num_procs == 0) {
    return Status(kErrJobInsufficientResources,
                  "no slot is free on the nodes of the job; wait for other "
                  "jobs, add nodes, or use -n with --oversubscribe");
  }
  if (Status s = CheckRoom(num_procs, room, nodes.size()); !s.ok()) return s;
  const bool in_turn =
      policy_.kind == MapPolicy::Kind::kNode || (policy_.level && policy_.span);
  if (in_turn) {
    RoundRobin(app, num_procs, &*uses);
  } else {
    FillNodes(app, num_procs, &*uses);
  }
  return std::move(placed_);
}

Result<std::vector<Placed>> Placer::PlaceSequence(
    uint32_t app, uint32_t num_procs, const std::vector<uint32_t>& nodes) {
  if (num_procs > nodes.size()) {
    return Status(kErrJobInsufficientResources,
                  "--map-by seq takes one host for each process: " +
                      std::to_string(num_procs) + " asked for, " +
                      std::to_string(nodes.size()) + " hosts in the list");
  }
  if (num_procs == 0) num_procs = static_cast<uint32_t>(nodes.size());
  placed_.clear();
  for (uint32_t i = 0; i < num_procs; ++i) {
    Use use{nodes[i], 1, 1, 0, {}};
    Put(app, &use);
  }
  return std::move(placed_);
}

namespace {

// Returns the index of the object at `level` that a process is confined to.
std::optional<uint32_t> ObjectOf(const MapNode& node, const Placed& p,
                                 TopologyLevel level) {
  if (!node.topology) return std::nullopt;
  CpuSet cpus = p.cpus;
  if (cpus.empty() && p.level) cpus = node.topology->at(*p.level)[p.object];
  const std::vector<CpuSet>& objects = node.topology->at(level);
  for (uint32_t i = 0; i < objects.size(); ++i) {
    if (!cpus.empty() && objects[i].Contains(cpus)) return i;
  }
  return std::nullopt;
}

// Sorts by turn: the first of every group come first, then the second of every
// group, and so on. group[i] and place[i] describe placed[i]; groups with the
// same `place` stay together.
std::vector<Placed> TakeTurns(std::vector<Placed> placed,
                              const std::vector<uint64_t>& group,
                              const std::vector<uint32_t>& place) {
  // Pairs of a group and the number of its members so far.
  std::vector<std::pair<uint64_t, uint32_t>> seen;
  std::vector<uint32_t> turn(placed.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    auto it = std::ranges::lower_bound(seen, group[i], {},
                                       &std::pair<uint64_t, uint32_t>::first);
    if (it == seen.end() || it->first != group[i]) {
      it = seen.insert(it, {group[i], 0});
    }
    turn[i] = it->second++;
  }
  std::vector<size_t> order(placed.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return std::tuple(place[i], turn[i], group[i]);
  });
  std::vector<Placed> out;
  for (const size_t i : order) out.push_back(std::move(placed[i]));
  return out;
}

// Returns, for each node, its position in the order in which the nodes got
// their first process.
std::vector<uint32_t> PositionsOf(size_t num_nodes,
                                  const std::vector<Placed>& placed) {
  std::vector<uint32_t> position(num_nodes, UINT32_MAX);
  uint32_t next = 0;
  for (const Placed& p : placed) {
    if (position[p.node] == UINT32_MAX) position[p.node] = next++;
  }
  return position;
}

Status NoObjects(TopologyLevel level) {
  const std::string name(canopy::ToString(level));
  return {kErrBadParam, "--rank-by " + name +
                            " needs processes that are mapped by or "
                            "bound to a " +
                            name + "; add --map-by " + name};
}

}  // namespace

Result<std::vector<Placed>> OrderByRank(const std::vector<MapNode>& pool,
                                        const MapPolicy& map,
                                        const RankPolicy& policy,
                                        std::vector<Placed> placed) {
  using Kind = RankPolicy::Kind;
  const std::vector<uint32_t> position = PositionsOf(pool.size(), placed);
  const bool in_turn = map.kind == MapPolicy::Kind::kNode ||
                       map.kind == MapPolicy::Kind::kSeq || map.span;
  if (policy.kind == Kind::kAsMapped && in_turn) return placed;
  if (policy.kind == Kind::kAsMapped || policy.kind == Kind::kSlot) {
    std::ranges::stable_sort(placed, {},
                             [&](const Placed& p) { return position[p.node]; });
    return placed;
  }
  std::vector<uint64_t> group(placed.size());
  std::vector<uint32_t> place(placed.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    const Placed& p = placed[i];
    group[i] = uint64_t{position[p.node]} << 32;
    if (policy.kind == Kind::kNode) continue;
    const bool span = policy.kind == Kind::kSpan;
    if (span && !map.level) continue;  // the objects are whole nodes
    const TopologyLevel level = span ? *map.level : policy.level;
    const std::optional<uint32_t> object = ObjectOf(pool[p.node], p, level);
    if (!object) return NoObjects(level);
    group[i] |= *object;
    if (!span && !map.span) place[i] = position[p.node];
  }
  return TakeTurns(std::move(placed), group, place);
}

}  // namespace canopy::host
