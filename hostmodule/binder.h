// Binding: computes the CPUs that each placed process may run on.
#ifndef CANOPY_HOSTMODULE_BINDER_H_
#define CANOPY_HOSTMODULE_BINDER_H_

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "hostmodule/map_node.h"
#include "hostmodule/map_policy.h"
#include "hostmodule/placement.h"

namespace canopy::host {

// Binds each process to the least used object of the binding level within the
// object to which the process was mapped. Of equally used objects, it takes the
// one with the lowest number. With pe=N the process gets N such objects. Nodes
// emulated on one machine share its objects. Objects to which processes of
// other jobs are bound count as used from the beginning. Used by one thread.
class Binder {
 public:
  // `pool` must outlive the binder. `bind.level` must have a value, and `pe` is
  // at least 1. With `hwthread_cpus` a CPU is a hardware thread, otherwise a
  // core.
  Binder(const std::vector<MapNode>& pool, const BindPolicy& bind, uint32_t pe,
         bool hwthread_cpus);

  // Sets `p->cpus`. Returns kErrJobInsufficientResources if there are fewer
  // objects than `pe`, or if an object would get more processes than CPUs and
  // overload is not allowed; returns kErrNotSupported if the node has no object
  // of the binding level.
  Status Bind(Placed* p);

 private:
  std::vector<uint32_t>& Loads(const MapNode& node);

  const std::vector<MapNode>& pool_;
  const BindPolicy bind_;
  const uint32_t pe_;
  const bool hwthread_cpus_;
  // Number of processes on each object, by machine.
  std::map<std::string, std::vector<uint32_t>> loads_;
};

// Returns a key that is equal for nodes that share CPUs.
std::string MachineKey(const MapNode& node);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_BINDER_H_
