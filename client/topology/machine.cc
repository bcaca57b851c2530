#include "client/topology/machine.h"

#include <utility>

#include "common/hwloc_levels.h"

namespace canopy::client {

const Machine* Machine::Get() {
  static const Machine* const machine = Look().release();
  return machine;
}

std::unique_ptr<const Machine> Machine::Look() {
  const HwlocLibrary* library = HwlocLibrary::Get();
  hwloc_topology_t topology = nullptr;
  if (library == nullptr || library->topology_init(&topology) != 0) {
    return nullptr;
  }
  library->set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (library->topology_load(topology) != 0) {
    library->topology_destroy(topology);
    return nullptr;
  }
  return std::unique_ptr<const Machine>(new Machine(*library, topology));
}

Machine::~Machine() { library_.topology_destroy(topology_); }

Machine::Machine(const HwlocLibrary& library, hwloc_topology_t topology)
    : library_(library), topology_(topology) {
  processors_.cpus = ToCpuSet(library_.get_allowed_cpuset(topology_));
  for (const HwlocLevel& entry : kHwlocLevels) {
    AddLevel(entry.level, entry.type);
  }
}

CpuSet Machine::ToCpuSet(hwloc_const_bitmap_t bitmap) const {
  CpuSet set;
  if (bitmap == nullptr) return set;
  int cpu = library_.bitmap_next(bitmap, -1);
  while (cpu >= 0 && cpu < static_cast<int>(CpuSet::kMaxCpus)) {
    set.Add(static_cast<uint32_t>(cpu));
    cpu = library_.bitmap_next(bitmap, cpu);
  }
  return set;
}

void Machine::AddLevel(TopologyLevel level, hwloc_obj_type_t type) {
  const int depth = library_.get_type_depth(topology_, type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) {
    return;
  }
  std::vector<CpuSet>& objects = processors_.at(level);
  const unsigned count = library_.get_nbobjs_by_depth(topology_, depth);
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj_t object = library_.get_obj_by_depth(topology_, depth, i);
    CpuSet set = ToCpuSet(object->cpuset) & processors_.cpus;
    // Several memory objects may have the same processors, which must count
    // once.
    bool taken = set.empty();
    for (const CpuSet& other : objects) taken |= other.Intersects(set);
    if (!taken) objects.push_back(std::move(set));
  }
}

}  // namespace canopy::client
