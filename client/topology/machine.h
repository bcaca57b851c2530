// The hardware of this node, according to hwloc.
#ifndef CANOPY_CLIENT_TOPOLOGY_MACHINE_H_
#define CANOPY_CLIENT_TOPOLOGY_MACHINE_H_

#include <hwloc.h>

#include <memory>

#include "client/topology/hwloc_library.h"
#include "common/cpuset.h"
#include "common/topology.h"

namespace canopy::client {

// Immutable and thread-safe.
class Machine {
 public:
  // Reads the hardware once per process (some milliseconds) and keeps the
  // result. Returns null if hwloc is absent or fails.
  static const Machine* Get();
  // Reads the current hardware, for callers that must see changes. Returns null
  // like Get.
  static std::unique_ptr<const Machine> Look();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const HwlocLibrary& library() const { return library_; }
  hwloc_topology_t topology() const { return topology_; }
  // Returns false if the environment makes hwloc read another machine's
  // description.
  bool is_this_system() const { return library_.is_thissystem(topology_) != 0; }
  // Returns the processors of the machine, with hwloc's numbers.
  const Topology& processors() const { return processors_; }

  // Converts hwloc's set. Null becomes an empty set.
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
