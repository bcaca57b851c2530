// Selects the nodes that an application may use, and the room on each of them.
#ifndef CANOPY_HOSTMODULE_NODE_POOL_H_
#define CANOPY_HOSTMODULE_NODE_POOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/gpu.h"
#include "common/hosts.h"
#include "common/status.h"
#include "hostmodule/map_node.h"

namespace canopy::host {

// A node picked for a job or an application.
struct PickedNode {
  uint32_t node = 0;   // index in the nodes of the pool
  uint32_t slots = 0;  // slots that it provides
  // The user gave the number of slots; neither other jobs nor other
  // applications of the same job reduce it.
  bool slots_given = false;
};

// `nodes` are in the order of the overlay; `hosts` are the user's entries,
// empty for all. The result is in the user's order and contains each node once.
// A node that is named k > 1 times without a count provides k slots, a node
// named with counts their sum, and a node named once its free slots. Returns
// kErrNotFound for an unknown host and lists the known ones.
Result<std::vector<PickedNode>> PickNodes(const std::vector<MapNode>& nodes,
                                          const std::vector<Host>& hosts,
                                          NodeId local_agent);

// For --map-by seq: returns one entry for each process, so a node may occur
// several times (as often as its count).
Result<std::vector<uint32_t>> PickSequence(const std::vector<MapNode>& nodes,
                                           const std::vector<Host>& hosts,
                                           NodeId local_agent);

// Returns the GPUs of a node that no process of another job has.
std::vector<Gpu> FreeGpus(const MapNode& node);
// Returns the bytes of a node's memory that are not booked for other jobs; 0 if
// its memory is unknown.
uint64_t FreeMemory(const MapNode& node);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_NODE_POOL_H_
