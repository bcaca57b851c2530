// Binding: which CPUs each placed process may run on.
#ifndef CANOPY_HOSTMODULE_BINDER_H_
#define CANOPY_HOSTMODULE_BINDER_H_

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "hostmodule/map_policy.h"
#include "hostmodule/map_request.h"
#include "hostmodule/placement.h"

namespace canopy::host {

// Each process gets the least used object of the level bound to, within the
// object it was mapped to (the lowest number where several are equal); with
// pe=N it gets N of them. Nodes emulated on one machine share its objects.
class Binder {
 public:
  // `pool` outlives the binder. `bind.level` has a value. `pe` >= 1.
  // `hwthread_cpus`: a CPU is a hardware thread rather than a core.
  Binder(const std::vector<MapNode>& pool, const BindPolicy& bind, uint32_t pe,
         bool hwthread_cpus);

  // Fills in `cpus`. kErrJobInsufficientResources when more processes than
  // CPUs would meet on an object and overload is not allowed, kErrNotSupported
  // when the node does not have such objects.
  Status Bind(Placed* p);

 private:
  const std::vector<MapNode>& pool_;
  const BindPolicy bind_;
  const uint32_t pe_;
  const bool hwthread_cpus_;
  // Processes on each object, by machine.
  std::map<std::string, std::vector<uint32_t>> loads_;
};

// Nodes that share CPUs have the same key.
std::string MachineKey(const MapNode& node);

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_BINDER_H_
