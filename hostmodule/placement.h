// Mapping: assigns each process to a node and to a part of it.
#ifndef CANOPY_HOSTMODULE_PLACEMENT_H_
#define CANOPY_HOSTMODULE_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/topology.h"
#include "hostmodule/map_node.h"
#include "hostmodule/map_policy.h"
#include "hostmodule/node_pool.h"

namespace canopy::host {

// One process, before it has a rank.
struct Placed {
  uint32_t node = 0;  // index in the pool
  uint32_t app = 0;
  // The level of the object to which the process was mapped; no value: the
  // whole node.
  std::optional<TopologyLevel> level;
  uint32_t object = 0;  // index of the object at that level
  CpuSet cpus;          // CPUs to which it is bound; empty: not bound
  std::string gpus;     // its GPUs, as JoinGpus writes them
};

// The resources of a node that a process gets for itself alone.
struct ProcNeeds {
  uint32_t gpus = 0;
  uint64_t memory = 0;  // bytes
};

// Returns the number of bytes as text for people, such as "4 GiB".
std::string MemoryText(uint64_t bytes);

// Places the applications of one job, one after the other, on one pool of
// nodes. Used by one thread.
class Placer {
 public:
  // `pool` must outlive the placer. With `oversubscribe`, the slots of a node
  // do not limit the number of its processes. With `cpus_limit` and pe > 1, its
  // CPUs do.
  Placer(const std::vector<MapNode>& pool, const MapPolicy& policy,
         bool oversubscribe, bool cpus_limit, ProcNeeds needs);

  // Places `num_procs` processes (0: all for which there is room) of
  // application `app` on `nodes`, which were picked for it. The result is in
  // the order of mapping. Returns kErrJobInsufficientResources if there is too
  // little room, kErrJobFailedToMap if a node does not have the objects of the
  // policy, and kErrBadParam for too many processes.
  Result<std::vector<Placed>> Place(uint32_t app, uint32_t num_procs,
                                    const std::vector<PickedNode>& nodes);
  // Places one process on each entry of `nodes`, for --map-by seq. Returns
  // kErrJobInsufficientResources if there are too few entries.
  Result<std::vector<Placed>> PlaceSequence(uint32_t app, uint32_t num_procs,
                                            const std::vector<uint32_t>& nodes);

 private:
  // A node that the current application may use.
  struct Use {
    uint32_t node = 0;
    uint32_t room = 0;
    uint32_t objects = 1;  // number at the mapping level; 1 for a whole node
    uint32_t placed = 0;   // processes of this application
    // The objects in the order of their use: objects on which other jobs need
    // the fewest CPUs come first. Empty: in the order of their numbers.
    std::vector<uint32_t> order;

    uint32_t Object(uint64_t i) const {
      return order.empty() ? static_cast<uint32_t>(i) : order[i];
    }
  };

  Result<std::vector<Use>> Uses(const std::vector<PickedNode>& nodes) const;
  std::vector<uint32_t> OrderOn(const MapNode& node) const;
  uint32_t RoomOn(const PickedNode& picked) const;
  // Returns the number of processes of the whole job for which the CPUs, GPUs
  // and memory of a node suffice.
  uint64_t Suffices(const MapNode& node) const;
  Status CheckRoom(uint32_t num_procs, uint64_t room, size_t nodes) const;
  void Put(uint32_t app, Use* use);
  void FillNodes(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);
  void RoundRobin(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);
  Status PerResource(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);

  const std::vector<MapNode>& pool_;
  const MapPolicy policy_;
  const bool oversubscribe_;
  const bool cpus_limit_;
  const ProcNeeds needs_;
  std::vector<uint32_t> used_;  // slots in use, by node of the pool
  std::vector<Placed> placed_;  // processes of the current application
};

// Sorts `placed`, the processes of one application after their binding, into
// the order of ranks by the policy. Returns kErrBadParam if the policy names a
// level and a process is not confined to an object of that level.
Result<std::vector<Placed>> OrderByRank(const std::vector<MapNode>& pool,
                                        const MapPolicy& map,
                                        const RankPolicy& policy,
                                        std::vector<Placed> placed);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_PLACEMENT_H_
