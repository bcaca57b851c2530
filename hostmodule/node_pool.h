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
  uint32_t slots = 0;  // slots that the node provides
  // The user gave the number of slots; neither other jobs nor other
  // applications of the same job reduce it.
  bool slots_given = false;
};

// Returns the nodes that `hosts`, the user's entries, select from `nodes`, or
// all nodes if there are no entries. `nodes` is in the order of the overlay;
// the result is in the user's order and contains each node once. A node that is
// named once without a count provides its free slots. Otherwise a node provides
// the sum of its counts, where a mention without a count counts as 1.
// Returns kErrNotFound for an unknown host and lists the known ones,
// kErrBadParam for a malformed entry such as "+nx", and
// kErrJobInsufficientResources if "+e" or "+any" requests too many nodes.
Result<std::vector<PickedNode>> PickNodes(const std::vector<MapNode>& nodes,
                                          const std::vector<Host>& hosts,
                                          NodeId local_agent);

// Returns `hosts` with names in place of the entries "+nK" and, if `empty`, of
// "+e", which are the nodes without slots in use. Returns the errors of
// PickNodes for such entries.
Result<std::vector<Host>> NameRelative(const std::vector<MapNode>& nodes,
                                       const std::vector<Host>& hosts,
                                       bool empty);

// Returns the node of each process, for --map-by seq. A host with a count
// occurs that number of times. Returns the errors of PickNodes for the entries,
// and kErrBadParam for more than 2^20 processes.
Result<std::vector<uint32_t>> PickSequence(const std::vector<MapNode>& nodes,
                                           const std::vector<Host>& hosts,
                                           NodeId local_agent);

// Returns the GPUs of a node that are not assigned to other jobs.
std::vector<Gpu> FreeGpus(const MapNode& node);
// Returns the bytes of a node's memory that are not booked for other jobs; 0 if
// its memory is unknown.
uint64_t FreeMemory(const MapNode& node);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_NODE_POOL_H_
