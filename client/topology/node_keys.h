// Keys of PMIx_Get that are answered from the hardware of this node.
#ifndef CANOPY_CLIENT_TOPOLOGY_NODE_KEYS_H_
#define CANOPY_CLIENT_TOPOLOGY_NODE_KEYS_H_

#include <optional>
#include <string_view>

#include "common/values/value.h"

namespace canopy::client {

// Selects the node and device; empty: this node, any device.
struct DeviceQualifiers {
  std::string_view hostname;
  std::string_view id;    // PMIX_DEVICE_ID; may also be the device's name
  std::string_view name;  // PMIX_FABRIC_DEVICE_NAME
};

// Returns true if FindNodeKey knows the key.
bool IsNodeKey(std::string_view key);

// Finds PMIX_FABRIC_DEVICES, PMIX_FABRIC_DEVICE, PMIX_TOPOLOGY2, and
// PMIX_DEVICE_DISTANCES of this process. Returns no value for another node, for
// an unknown device, and if hwloc is absent. PMIX_FABRIC_DEVICE needs a
// qualifier that selects a device.
std::optional<Value> FindNodeKey(std::string_view key,
                                 const DeviceQualifiers& which);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_NODE_KEYS_H_
