#include "client/topology/distances.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "client/topology/device.h"
#include "client/topology/machine.h"
#include "client/topology/source.h"
#include "client/topology/topology_op.h"
#include "common/support/ignored_directives.h"
#include "common/values/hwloc_access.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct Selection {
  pmix_device_type_t types = ~pmix_device_type_t{0};
  std::string id;  // empty: any
};

int ParseSelection(const pmix_info_t* info, size_t ninfo, Selection* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ninfo; ++i) {
    const std::string_view key = KeyOf(info[i]);
    if (key == PMIX_DEVICE_TYPE) {
      const auto types = Uint64Of(info[i].value);
      if (!types) return PMIX_ERR_BAD_PARAM;
      out->types = *types;
    } else if (key == PMIX_DEVICE_ID) {
      const auto id = StringOf(info[i].value);
      if (!id || id->empty()) return PMIX_ERR_BAD_PARAM;
      out->id = std::string(*id);
    } else {
      const int rc = support::NotHonoured("PMIx_Compute_distances", info[i]);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

class Measure {
 public:
  Measure(const Machine& machine, hwloc_topology_t topology, CpuSet cpus)
      : machine_(machine), topology_(topology), cpus_(std::move(cpus)) {}

  // Sets min and max. Returns false if no processor of the set exists.
  bool From(hwloc_obj_t place, DeviceDistance* out) const {
    const HwlocLibrary& library = machine_.library();
    const int depth = library.get_type_depth(topology_, HWLOC_OBJ_PU);
    const unsigned count = library.get_nbobjs_by_depth(topology_, depth);
    bool any = false;
    for (unsigned i = 0; i < count; ++i) {
      const hwloc_obj_t unit = library.get_obj_by_depth(topology_, depth, i);
      if (!cpus_.Has(unit->os_index)) continue;
      const uint16_t distance = Climb(unit, place);
      out->min = any ? std::min(out->min, distance) : distance;
      out->max = any ? std::max(out->max, distance) : distance;
      any = true;
    }
    return any;
  }

 private:
  uint16_t Climb(hwloc_obj_t unit, hwloc_obj_t place) const {
    uint16_t levels = 0;
    for (hwloc_obj_t object = unit; object != nullptr;
         object = object->parent) {
      if (Contains(object, place)) break;
      ++levels;
    }
    return levels;
  }
  bool Contains(hwloc_obj_t object, hwloc_obj_t place) const {
    const CpuSet inner = machine_.ToCpuSet(place->cpuset);
    return machine_.ToCpuSet(object->cpuset).Contains(inner);
  }

  const Machine& machine_;
  const hwloc_topology_t topology_;
  const CpuSet cpus_;
};

// Sets *cpus to the processors of `cpuset`; if that has none, to the processors
// to which this process is bound. Returns a PMIx status.
int CpusOf(const Machine& machine, const pmix_cpuset_t* cpuset, CpuSet* cpus) {
  if (cpuset != nullptr && cpuset->bitmap != nullptr) {
    if (!IsHwloc(cpuset->source)) return PMIX_ERR_NOT_SUPPORTED;
    *cpus = machine.ToCpuSet(static_cast<hwloc_const_bitmap_t>(cpuset->bitmap));
    return PMIX_SUCCESS;
  }
  pmix_cpuset_t current = {};
  const int rc = CurrentCpuset(&current, PMIX_CPUBIND_PROCESS);
  if (rc != PMIX_SUCCESS) return rc;
  *cpus = machine.ToCpuSet(static_cast<hwloc_const_bitmap_t>(current.bitmap));
  DestructCpuset(&current);
  return PMIX_SUCCESS;
}

bool Wanted(const Selection& selection, const DeviceDistance& device) {
  if (device.type == PMIX_DEVTYPE_UNKNOWN) return false;
  if ((selection.types & device.type) == 0) return false;
  return selection.id.empty() || selection.id == device.id ||
         selection.id == device.os_name;
}

}  // namespace

int ComputeDistances(const pmix_topology_t* topology,
                     const pmix_cpuset_t* cpuset, const pmix_info_t* info,
                     size_t ninfo, std::vector<DeviceDistance>* distances) {
  Selection selection;
  int rc = ParseSelection(info, ninfo, &selection);
  if (rc != PMIX_SUCCESS) return rc;
  const Machine* machine = Machine::Get();
  if (machine == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  hwloc_topology_t tree = machine->topology();
  if (topology != nullptr && topology->topology != nullptr) {
    if (!IsHwloc(topology->source)) return PMIX_ERR_NOT_SUPPORTED;
    tree = static_cast<hwloc_topology_t>(topology->topology);
  }
  CpuSet cpus;
  rc = CpusOf(*machine, cpuset, &cpus);
  if (rc != PMIX_SUCCESS) return rc;
  const Measure measure(*machine, tree, std::move(cpus));
  const HwlocLibrary& library = machine->library();
  const unsigned count =
      library.get_nbobjs_by_depth(tree, HWLOC_TYPE_DEPTH_OS_DEVICE);
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj_t object =
        library.get_obj_by_depth(tree, HWLOC_TYPE_DEPTH_OS_DEVICE, i);
    DeviceDistance device;
    device.type = DeviceType(object);
    device.os_name = object->name;
    device.id = DeviceId(object);
    if (!Wanted(selection, device)) continue;
    const hwloc_obj_t place = PlaceOf(object);
    if (place == nullptr || !measure.From(place, &device)) continue;
    distances->push_back(std::move(device));
  }
  return PMIX_SUCCESS;
}

Value DistanceArray(const std::vector<DeviceDistance>& distances) {
  std::vector<pmix_device_distance_t> elements;
  for (const DeviceDistance& distance : distances) {
    pmix_device_distance_t element = {};
    element.uuid = const_cast<char*>(distance.id.c_str());
    element.osname = const_cast<char*>(distance.os_name.c_str());
    element.type = distance.type;
    element.mindist = distance.min;
    element.maxdist = distance.max;
    elements.push_back(element);
  }
  pmix_data_array_t array = {PMIX_DEVICE_DIST, elements.size(),
                             elements.data()};
  pmix_value_t value = {};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return Value::FromC(value);
}

}  // namespace canopy::client
