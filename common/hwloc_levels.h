// Canopy's levels of the hardware with their hwloc types, largest first.
#ifndef CANOPY_COMMON_HWLOC_LEVELS_H_
#define CANOPY_COMMON_HWLOC_LEVELS_H_

#include <hwloc.h>

#include "common/topology.h"

namespace canopy {

struct HwlocLevel {
  TopologyLevel level;
  hwloc_obj_type_t type;
};

inline constexpr HwlocLevel kHwlocLevels[] = {
    {TopologyLevel::kPackage, HWLOC_OBJ_PACKAGE},
    {TopologyLevel::kNuma, HWLOC_OBJ_NUMANODE},
    {TopologyLevel::kL3, HWLOC_OBJ_L3CACHE},
    {TopologyLevel::kL2, HWLOC_OBJ_L2CACHE},
    {TopologyLevel::kL1, HWLOC_OBJ_L1CACHE},
    {TopologyLevel::kCore, HWLOC_OBJ_CORE},
    {TopologyLevel::kHwthread, HWLOC_OBJ_PU},
};

}  // namespace canopy

#endif  // CANOPY_COMMON_HWLOC_LEVELS_H_
