// The fabrics that this node is part of, according to the devices that hwloc
// finds.
#ifndef CANOPY_CLIENT_TOPOLOGY_FABRIC_H_
#define CANOPY_CLIENT_TOPOLOGY_FABRIC_H_

#include <string>
#include <vector>

#include "client/topology/machine.h"
#include "common/values/info_list.h"

namespace canopy::client {

// Identifies a fabric. The devices of one kind, one vendor and one plane form a
// fabric.
struct FabricName {
  std::string identifier;  // "openfabrics" or "network"
  std::string vendor;  // vendor of the devices; "unknown" if it is not known
  std::string plane;   // subnet prefix; empty if it is not known

  bool operator==(const FabricName&) const = default;
};

struct Fabric {
  FabricName name;
  // Infos of each device: PMIX_DEVICE_ID first, then PMIX_HOSTNAME and
  // PMIX_FABRIC_DEVICE_*.
  std::vector<InfoList> devices;
};

// Returns all fabrics: OpenFabrics first, and each kind in hwloc's order of the
// devices. Reads the state of the links from the kernel, unless the topology
// was loaded from a file.
std::vector<Fabric> FindFabrics(const Machine& machine);

// Returns the content of pmix_fabric_t::info. `index` is the fabric's position
// among all fabrics.
InfoList DescribeFabric(const Fabric& fabric, size_t index);

// Returns the value of PMIX_FABRIC_DEVICES: all devices of this node. Empty if
// there is none.
InfoList DescribeDevices(const std::vector<Fabric>& fabrics);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_FABRIC_H_
