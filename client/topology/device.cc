#include "client/topology/device.h"

#include "common/posix/host_name.h"

namespace canopy::client {

pmix_device_type_t DeviceType(hwloc_obj_t device) {
  switch (device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_BLOCK:
      return PMIX_DEVTYPE_BLOCK;
    case HWLOC_OBJ_OSDEV_GPU:
      return PMIX_DEVTYPE_GPU;
    case HWLOC_OBJ_OSDEV_NETWORK:
      return PMIX_DEVTYPE_NETWORK;
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return PMIX_DEVTYPE_OPENFABRICS;
    case HWLOC_OBJ_OSDEV_DMA:
      return PMIX_DEVTYPE_DMA;
    case HWLOC_OBJ_OSDEV_COPROC:
      return PMIX_DEVTYPE_COPROC;
  }
  return PMIX_DEVTYPE_UNKNOWN;
}

std::string InfoOf(hwloc_obj_t object, std::string_view name) {
  for (unsigned i = 0; i < object->infos_count; ++i) {
    if (object->infos[i].name == name) return object->infos[i].value;
  }
  return {};
}

std::string DeviceId(hwloc_obj_t device) {
  const pmix_device_type_t type = DeviceType(device);
  if (type == PMIX_DEVTYPE_OPENFABRICS) {
    return "fab://" + InfoOf(device, "NodeGUID") +
           "::" + InfoOf(device, "SysImageGUID");
  }
  const std::string address = InfoOf(device, "Address");
  if (type == PMIX_DEVTYPE_NETWORK && !address.empty()) {
    return "ipv4://" + address;
  }
  const char* scheme = type == PMIX_DEVTYPE_GPU || type == PMIX_DEVTYPE_COPROC
                           ? "gpu://"
                           : "dev://";
  return scheme + LocalHostName() + "::" + device->name;
}

hwloc_obj_t PlaceOf(hwloc_obj_t device) {
  hwloc_obj_t object = device->parent;
  while (object != nullptr && object->cpuset == nullptr) {
    object = object->parent;
  }
  return object;
}

hwloc_obj_t PciDeviceOf(hwloc_obj_t device) {
  hwloc_obj_t object = device->parent;
  while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) {
    object = object->parent;
  }
  return object;
}

}  // namespace canopy::client
