#include "client/topology/fabric.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "client/topology/device.h"
#include "client/topology/link_files.h"
#include "common/posix/host_name.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

constexpr char kOpenFabrics[] = "openfabrics";
constexpr char kNetwork[] = "network";
constexpr char kUnknown[] = "unknown";
constexpr char kSystemFiles[] = "/sys";
// Length of an Ethernet address as text.
constexpr size_t kEthernetAddress = 17;

std::string Hex16(unsigned number) {
  std::array<char, 8> text{};
  snprintf(text.data(), text.size(), "0x%04x", number & 0xffff);
  return text.data();
}

// Returns the name of the vendor, which hwloc knows if a list of vendors is
// installed.
std::string VendorOf(hwloc_obj_t pci) {
  if (pci == nullptr) return kUnknown;
  const std::string name = InfoOf(pci, "PCIVendor");
  return name.empty() ? Hex16(pci->attr->pcidev.vendor_id) : name;
}

std::string PciAddress(hwloc_obj_t pci) {
  const auto& at = pci->attr->pcidev;
  std::array<char, 32> text{};
  snprintf(text.data(), text.size(), "%04x:%02x:%02x.%01x",
           static_cast<unsigned>(at.domain), static_cast<unsigned>(at.bus),
           static_cast<unsigned>(at.dev), static_cast<unsigned>(at.func));
  return text.data();
}

// Returns the prefix of the subnet: the first half of the port's global
// identifier.
std::string PlaneOf(hwloc_obj_t device) {
  const std::string gid = InfoOf(device, "Port1GID0");
  constexpr size_t kPrefix = sizeof("0123:0123:0123:0123") - 1;
  return gid.size() > kPrefix ? gid.substr(0, kPrefix) : std::string();
}

FabricName NameOf(hwloc_obj_t device, pmix_device_type_t type) {
  const bool open = type == PMIX_DEVTYPE_OPENFABRICS;
  return {open ? kOpenFabrics : kNetwork, VendorOf(PciDeviceOf(device)),
          open ? PlaneOf(device) : std::string()};
}

void AddPci(hwloc_obj_t pci, InfoList* out) {
  out->Add(PMIX_FABRIC_DEVICE_BUS_TYPE, Value::String("PCI"));
  out->Add(PMIX_FABRIC_DEVICE_VENDORID,
           Value::String(Hex16(pci->attr->pcidev.vendor_id)));
  out->Add(PMIX_FABRIC_DEVICE_PCI_DEVID, Value::String(PciAddress(pci)));
}

InfoList Describe(const Machine& machine, hwloc_obj_t device,
                  const FabricName& fabric, size_t index) {
  const pmix_device_type_t type = DeviceType(device);
  InfoList out;
  out.Add(PMIX_DEVICE_ID, Value::String(DeviceId(device)));
  out.Add(PMIX_HOSTNAME, Value::String(LocalHostName()));
  out.Add(PMIX_FABRIC_DEVICE_INDEX,
          Value::Uint32(static_cast<uint32_t>(index)));
  out.Add(PMIX_FABRIC_DEVICE_NAME, Value::String(device->name));
  out.Add(PMIX_FABRIC_DEVICE_VENDOR, Value::String(fabric.vendor));
  if (hwloc_obj_t pci = PciDeviceOf(device)) AddPci(pci, &out);
  const std::string address =
      InfoOf(device, type == PMIX_DEVTYPE_OPENFABRICS ? "NodeGUID" : "Address");
  if (!address.empty()) {
    out.Add(PMIX_FABRIC_DEVICE_ADDRESS, Value::String(address));
  }
  if (type == PMIX_DEVTYPE_NETWORK && address.size() == kEthernetAddress) {
    out.Add(PMIX_FABRIC_DEVICE_TYPE, Value::String("Ethernet"));
  }
  if (machine.is_this_system()) AddLink(kSystemFiles, type, device->name, &out);
  return out;
}

Fabric& FabricOf(const FabricName& name, std::vector<Fabric>* fabrics) {
  const auto it = std::ranges::find(*fabrics, name, &Fabric::name);
  if (it != fabrics->end()) return *it;
  return fabrics->emplace_back(Fabric{name, {}});
}

void AddDevicesOf(const Machine& machine, pmix_device_type_t type,
                  std::vector<Fabric>* fabrics) {
  const HwlocLibrary& library = machine.library();
  const hwloc_topology_t tree = machine.topology();
  const unsigned count =
      library.get_nbobjs_by_depth(tree, HWLOC_TYPE_DEPTH_OS_DEVICE);
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj_t device =
        library.get_obj_by_depth(tree, HWLOC_TYPE_DEPTH_OS_DEVICE, i);
    if (DeviceType(device) != type) continue;
    const FabricName name = NameOf(device, type);
    Fabric& fabric = FabricOf(name, fabrics);
    fabric.devices.push_back(
        Describe(machine, device, name, fabric.devices.size()));
  }
}

Value DeviceArray(const std::vector<InfoList>& devices) {
  InfoList array;
  for (const InfoList& device : devices) {
    array.Add(PMIX_FABRIC_DEVICE, Value::InfoArray(device));
  }
  return Value::InfoArray(array);
}

}  // namespace

std::vector<Fabric> FindFabrics(const Machine& machine) {
  std::vector<Fabric> fabrics;
  AddDevicesOf(machine, PMIX_DEVTYPE_OPENFABRICS, &fabrics);
  AddDevicesOf(machine, PMIX_DEVTYPE_NETWORK, &fabrics);
  return fabrics;
}

InfoList DescribeFabric(const Fabric& fabric, size_t index) {
  InfoList out;
  out.Add(PMIX_FABRIC_VENDOR, Value::String(fabric.name.vendor));
  out.Add(PMIX_FABRIC_IDENTIFIER, Value::String(fabric.name.identifier));
  out.Add(PMIX_FABRIC_NUM_DEVICES, Value::Size(fabric.devices.size()));
  out.Add(PMIX_FABRIC_INDEX, Value::Size(index));
  if (!fabric.name.plane.empty()) {
    out.Add(PMIX_FABRIC_PLANE, Value::String(fabric.name.plane));
  }
  out.Add(PMIX_FABRIC_DEVICES, DeviceArray(fabric.devices));
  return out;
}

InfoList DescribeDevices(const std::vector<Fabric>& fabrics) {
  InfoList all;
  for (const Fabric& fabric : fabrics) {
    for (const InfoList& device : fabric.devices) {
      all.Add(PMIX_FABRIC_DEVICE, Value::InfoArray(device));
    }
  }
  return all;
}

}  // namespace canopy::client
