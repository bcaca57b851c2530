// The hardware of this node, as hwloc sees it.
#ifndef CANOPY_CLIENT_TOPOLOGY_MACHINE_H_
#define CANOPY_CLIENT_TOPOLOGY_MACHINE_H_

#include <hwloc.h>

#include "client/topology/hwloc_library.h"
#include "common/cpuset.h"
#include "common/topology.h"

namespace canopy::client {

// Immutable; any thread.
class Machine {
 public:
  // Looked at once per process (some milliseconds) and kept. Null without
  // hwloc.
  static const Machine* Get();

  const HwlocLibrary& library() const { return library_; }
  hwloc_topology_t topology() const { return topology_; }
  // Its processors, counted as hwloc counts them.
  const Topology& processors() const { return processors_; }

  CpuSet ToCpuSet(hwloc_const_bitmap_t bitmap) const;

 private:
  Machine(const HwlocLibrary& library, hwloc_topology_t topology);
  static const Machine* Load();
  void AddLevel(TopologyLevel level, hwloc_obj_type_t type);

  const HwlocLibrary& library_;
  const hwloc_topology_t topology_;
  Topology processors_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_MACHINE_H_
