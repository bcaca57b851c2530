// The GPUs of a machine.
#ifndef CANOPY_SERVER_HWINFO_GPUS_H_
#define CANOPY_SERVER_HWINFO_GPUS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/cpuset.h"
#include "common/gpu.h"

namespace canopy::hwinfo {

// A device of the PCI bus, as hwloc describes it.
struct PciDevice {
  uint16_t vendor = 0;
  uint16_t device_class = 0;  // class and subclass, such as 0x0302
  uint64_t address = 0;       // grows with domain, bus, device and function
  CpuSet cpus;                // the CPUs near the device
};

// Returns the kind of the device; no value if it is no GPU that jobs can use.
// `device_class` is as in PciDevice.
std::optional<GpuKind> GpuKindOf(uint16_t vendor, uint16_t device_class);

// Returns the GPUs among the devices, by kind and then in the order of the bus.
// Their identifiers are values of the variable for their kind
// (VisibleVariable); by default they are numbers from 0. `listed` returns the
// value of a variable in this process's environment, or an empty text. If the
// machine has GPUs of a kind whose variable lists devices, the listed devices
// are returned for this kind, in the order of the list, since a batch system
// has granted only these.
std::vector<Gpu> FindGpus(
    std::vector<PciDevice> devices,
    const std::function<std::string(const std::string&)>& listed);

}  // namespace canopy::hwinfo

#endif  // CANOPY_SERVER_HWINFO_GPUS_H_
