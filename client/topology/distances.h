// Distances of a process from the devices of its node.
#ifndef CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_
#define CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// The distance of a device. A processor's distance from a device is the number
// of levels from the processor to the first object that contains the device's
// place too.
struct DeviceDistance {
  std::string id;       // unique in the system
  std::string os_name;  // the operating system's name
  pmix_device_type_t type = PMIX_DEVTYPE_UNKNOWN;
  uint16_t min = 0;  // over the processors of the cpuset
  uint16_t max = 0;
};

// Computes the distances of the devices that `info` selects (PMIX_DEVICE_TYPE,
// PMIX_DEVICE_ID; all kinds by default). A null `topology` stands for this
// machine, a null `cpuset` for the binding of this process. Returns a PMIx
// status, such as PMIX_ERR_NOT_SUPPORTED if hwloc is absent.
int ComputeDistances(const pmix_topology_t* topology,
                     const pmix_cpuset_t* cpuset, const pmix_info_t* info,
                     size_t ninfo, std::vector<DeviceDistance>* distances);

// Returns an array of pmix_device_distance_t.
Value DistanceArray(const std::vector<DeviceDistance>& distances);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_
