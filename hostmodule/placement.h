// Mapping: which node, and which part of it, each process goes to.
#ifndef CANOPY_HOSTMODULE_PLACEMENT_H_
#define CANOPY_HOSTMODULE_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.h"
#include "common/topology.h"
#include "hostmodule/map_policy.h"
#include "hostmodule/map_request.h"
#include "hostmodule/node_pool.h"

namespace canopy::host {

// One process, before it has a rank.
struct Placed {
  uint32_t node = 0;  // index in the pool
  uint32_t app = 0;
  // The object it was mapped to; no value: the node as a whole.
  std::optional<TopologyLevel> level;
  uint32_t object = 0;  // index at that level
  CpuSet cpus;          // bound to; empty: not bound
};

// Places the applications of one job, one after the other, on one pool of
// nodes. A value object; one thread.
class Placer {
 public:
  // `pool` outlives the placer. `cpus_limit`: with pe > 1 a node takes no more
  // processes than its CPUs allow.
  Placer(const std::vector<MapNode>& pool, const MapPolicy& policy,
         bool oversubscribe, bool cpus_limit);

  // `num_procs` == 0: as many as there is room for. `nodes` as picked for this
  // application. The result is in mapping order.
  Result<std::vector<Placed>> Place(uint32_t app, uint32_t num_procs,
                                    const std::vector<PickedNode>& nodes);
  // --map-by seq: one process for each entry.
  Result<std::vector<Placed>> PlaceSequence(uint32_t app, uint32_t num_procs,
                                            const std::vector<uint32_t>& nodes);

 private:
  // A node that the application at hand may use.
  struct Use {
    uint32_t node = 0;
    uint32_t room = 0;
    uint32_t objects = 1;  // at the level mapped by; 1 for the node
    uint32_t placed = 0;   // of this application
  };

  Result<std::vector<Use>> Uses(const std::vector<PickedNode>& nodes) const;
  uint32_t RoomOn(const PickedNode& picked) const;
  Status CheckRoom(uint32_t num_procs, uint64_t room, size_t nodes) const;
  void Put(uint32_t app, Use* use);
  void FillNodes(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);
  void RoundRobin(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);
  Status PerResource(uint32_t app, uint32_t num_procs, std::vector<Use>* uses);

  const std::vector<MapNode>& pool_;
  const MapPolicy policy_;
  const bool oversubscribe_;
  const bool cpus_limit_;
  std::vector<uint32_t> used_;  // slots taken, by node of the pool
  std::vector<Placed> placed_;  // of the application at hand
};

// The order of ranks: `placed` (of one application, bound already) sorted as
// the policy says. kErrBadParam when an object level is asked for that a
// process is not confined to.
Result<std::vector<Placed>> OrderByRank(const std::vector<MapNode>& pool,
                                        const MapPolicy& map,
                                        const RankPolicy& policy,
                                        std::vector<Placed> placed);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_PLACEMENT_H_
