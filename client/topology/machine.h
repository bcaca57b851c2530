// The hardware of this node, as hwloc sees it.
#ifndef CANOPY_CLIENT_TOPOLOGY_MACHINE_H_
#define CANOPY_CLIENT_TOPOLOGY_MACHINE_H_

#include <hwloc.h>

#include <memory>

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
  // As it is now, for callers that must see what has changed.
  static std::unique_ptr<const Machine> Look();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const HwlocLibrary& library() const { return library_; }
  hwloc_topology_t topology() const { return topology_; }
  // False when the environment has hwloc read another machine's description.
  bool is_this_system() const { return library_.is_thissystem(topology_) != 0; }
  // Its processors, counted as hwloc counts them.
  const Topology& processors() const { return processors_; }

  CpuSet ToCpuSet(hwloc_const_bitmap_t bitmap) const;

 private:
  Machine(const HwlocLibrary& library, hwloc_topology_t topology);
  void AddLevel(TopologyLevel level, hwloc_obj_type_t type);

  const HwlocLibrary& library_;
  const hwloc_topology_t topology_;
  Topology processors_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_MACHINE_H_
