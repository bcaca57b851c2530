// What hwloc says of one device of the operating system.
#ifndef CANOPY_CLIENT_TOPOLOGY_DEVICE_H_
#define CANOPY_CLIENT_TOPOLOGY_DEVICE_H_

#include <hwloc.h>

#include <string>
#include <string_view>

#include "pmix.h"

namespace canopy::client {

// PMIX_DEVTYPE_UNKNOWN for a kind that has no name in PMIx.
pmix_device_type_t DeviceType(hwloc_obj_t device);

// Unique in the system: an address where the device has one, else its name on
// this host.
std::string DeviceId(hwloc_obj_t device);

// The value of the first info of that name; empty when there is none.
std::string InfoOf(hwloc_obj_t object, std::string_view name);

// The smallest object with processors that the device hangs below; null
// without one.
hwloc_obj_t PlaceOf(hwloc_obj_t device);

// The PCI device that it is a function of; null for one of another bus.
hwloc_obj_t PciDeviceOf(hwloc_obj_t device);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_DEVICE_H_
