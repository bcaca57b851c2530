// The fabrics that this node is part of, by the devices that hwloc finds.
#ifndef CANOPY_CLIENT_TOPOLOGY_FABRIC_H_
#define CANOPY_CLIENT_TOPOLOGY_FABRIC_H_

#include <string>
#include <vector>

#include "client/topology/machine.h"
#include "common/values/info_list.h"

namespace canopy::client {

// What tells one fabric from another. Of the devices of one kind, those of one
// vendor in one plane are a fabric.
struct FabricName {
  std::string identifier;  // "openfabrics" or "network"
  std::string vendor;      // of the devices; "unknown" when nobody says
  std::string plane;       // subnet prefix; empty when there is none to tell

  bool operator==(const FabricName&) const = default;
};

struct Fabric {
  FabricName name;
  // What is known of each device: PMIX_DEVICE_ID first, then PMIX_HOSTNAME and
  // PMIX_FABRIC_DEVICE_*.
  std::vector<InfoList> devices;
};

// All of them: those of OpenFabrics come first, else as hwloc orders their
// devices. Reads the state of the links from the kernel, unless the topology
// was loaded from a file.
std::vector<Fabric> FindFabrics(const Machine& machine);

// The content of pmix_fabric_t::info. `index` is the fabric's place among all.
InfoList DescribeFabric(const Fabric& fabric, size_t index);

// The value of PMIX_FABRIC_DEVICES: all devices of this node. Empty without
// one.
InfoList DescribeDevices(const std::vector<Fabric>& fabrics);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_FABRIC_H_
