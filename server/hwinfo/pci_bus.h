// The devices of the PCI bus, as the kernel lists them.
#ifndef CANOPY_SERVER_HWINFO_PCI_BUS_H_
#define CANOPY_SERVER_HWINFO_PCI_BUS_H_

#include <string>

namespace canopy::hwinfo {

// Where Linux lists the devices of the PCI bus.
inline constexpr char kPciDevices[] = "/sys/bus/pci/devices";

// Returns whether the list in `directory` has a device that FindGpus accepts.
// This takes a fraction of the time in which hwloc describes all devices, which
// would delay the start of an agent also on machines without GPUs. A directory
// that cannot be read has no devices.
bool ListsGpus(const std::string& directory);

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_PCI_BUS_H_
