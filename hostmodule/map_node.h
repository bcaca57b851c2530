// A node of the overlay, as the mapper sees it.
#ifndef CANOPY_HOSTMODULE_MAP_NODE_H_
#define CANOPY_HOSTMODULE_MAP_NODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/topology.h"
#include "hostmodule/bookings.h"

namespace canopy::host {

// A node of the overlay that may get processes.
struct MapNode {
  std::string name;
  std::vector<std::string> aliases;
  NodeId agent = kNoNode;
  uint32_t slots = 0;         // processes that fit without oversubscription
  uint32_t slots_in_use = 0;  // slots in use by other jobs
  // Null if the agent could not determine the topology. Processes on this node
  // are then not bound.
  std::shared_ptr<const Topology> topology;
  // Nodes with the same text (not empty) are emulated on one machine and share
  // its CPUs.
  std::string machine;
  // Bound and unbound processes of other jobs on the machine. A tool that is
  // not bound is not counted.
  std::vector<BoundProc> bound;
  uint32_t unbound_procs = 0;
  std::vector<std::string> gpus_in_use;  // names of other jobs' GPUs
  uint64_t memory_in_use = 0;            // bytes booked for other jobs
  // True if `topology` lacks some CPUs of the machine. Processes without a
  // narrower binding may then run only on the CPUs of `topology`.
  bool is_confined = false;
};

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAP_NODE_H_
