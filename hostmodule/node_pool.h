// Which nodes an application may use, and how much room each of them has.
#ifndef CANOPY_HOSTMODULE_NODE_POOL_H_
#define CANOPY_HOSTMODULE_NODE_POOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "hostmodule/map_request.h"

namespace canopy::host {

// A node picked for a job or an application.
struct PickedNode {
  uint32_t node = 0;   // index in the nodes of the pool
  uint32_t slots = 0;  // that it gives
  // The user said how many: neither other jobs nor other applications of the
  // same job take from them.
  bool slots_given = false;
};

// `nodes` in the order of the overlay; `hosts` as the user gave them, empty for
// all. The result is in the user's order and has each node once: a node named
// k > 1 times without a count gives k slots, one named with counts their sum,
// one named once what it has free. kErrNotFound names an unknown host and says
// which there are.
Result<std::vector<PickedNode>> PickNodes(const std::vector<MapNode>& nodes,
                                          const std::vector<MapHost>& hosts,
                                          NodeId local_agent);

// The same for --map-by seq: one entry for each process, so a node may come
// more than once (as often as its count says).
Result<std::vector<uint32_t>> PickSequence(const std::vector<MapNode>& nodes,
                                           const std::vector<MapHost>& hosts,
                                           NodeId local_agent);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_NODE_POOL_H_
