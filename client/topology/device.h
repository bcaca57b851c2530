// Properties of one device of the operating system, from hwloc.
#ifndef CANOPY_CLIENT_TOPOLOGY_DEVICE_H_
#define CANOPY_CLIENT_TOPOLOGY_DEVICE_H_

#include <hwloc.h>

#include <string>
#include <string_view>

#include "pmix.h"

namespace canopy::client {

// Returns the type of the device, or PMIX_DEVTYPE_UNKNOWN for a kind without a
// name in PMIx.
pmix_device_type_t DeviceType(hwloc_obj_t device);

// Returns an identifier that is unique in the system: the GUIDs of an
// OpenFabrics device, the address of a network device that has one, else the
// names of this host and of the device.
std::string DeviceId(hwloc_obj_t device);

// Returns the value of the first info of that name, or an empty text if there
// is none.
std::string InfoOf(hwloc_obj_t object, std::string_view name);

// Returns the smallest object with processors that contains the device, or null
// if there is none.
hwloc_obj_t PlaceOf(hwloc_obj_t device);

// Returns the PCI device of which the device is a function, or null on another
// bus.
hwloc_obj_t PciDeviceOf(hwloc_obj_t device);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_DEVICE_H_
