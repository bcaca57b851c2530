// How far a process is from the devices of its node.
#ifndef CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_
#define CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// The distance of a processor from a device is the number of levels to climb
// from the processor until an object contains the device's place too.
struct DeviceDistance {
  std::string id;       // unique in the system
  std::string os_name;  // as the operating system calls it
  pmix_device_type_t type = PMIX_DEVTYPE_UNKNOWN;
  uint16_t min = 0;  // of the processors of the cpuset
  uint16_t max = 0;
};

// Distances of the devices that `info` picks (PMIX_DEVICE_TYPE,
// PMIX_DEVICE_ID; all kinds by default). Null `topology`: this machine's; null
// `cpuset`: where this process is bound. Returns a PMIX status.
int ComputeDistances(const pmix_topology_t* topology,
                     const pmix_cpuset_t* cpuset, const pmix_info_t* info,
                     size_t ninfo, std::vector<DeviceDistance>* distances);

// As an array of pmix_device_distance_t.
Value DistanceArray(const std::vector<DeviceDistance>& distances);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_DISTANCES_H_
