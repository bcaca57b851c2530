#include "client/topology/node_keys.h"

#include <memory>
#include <vector>

#include "client/topology/device.h"
#include "client/topology/distances.h"
#include "client/topology/fabric.h"
#include "client/topology/machine.h"
#include "client/topology/topology_op.h"
#include "common/posix/host_name.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "pmix.h"

namespace canopy::client {
namespace {

bool Has(const pmix_info_t& device, const char* key, std::string_view wanted) {
  const auto infos = InfosOf(device.value);
  if (!infos) return false;
  const pmix_info_t* info = FindInfo(*infos, key);
  return info != nullptr && StringOf(info->value) == wanted;
}

bool IsMeant(const pmix_info_t& device, const DeviceQualifiers& which) {
  const bool of_id = which.id.empty() ||
                     Has(device, PMIX_DEVICE_ID, which.id) ||
                     Has(device, PMIX_FABRIC_DEVICE_NAME, which.id);
  return of_id && (which.name.empty() ||
                   Has(device, PMIX_FABRIC_DEVICE_NAME, which.name));
}

std::optional<Value> FindDevices(std::string_view key,
                                 const DeviceQualifiers& which) {
  const std::unique_ptr<const Machine> machine = Machine::Look();
  if (machine == nullptr) return std::nullopt;
  const InfoList all = DescribeDevices(FindFabrics(*machine));
  if (key == PMIX_FABRIC_DEVICES) {
    if (all.empty()) return std::nullopt;
    return Value::InfoArray(all);
  }
  if (which.id.empty() && which.name.empty()) return std::nullopt;
  for (const pmix_info_t& device : all) {
    if (IsMeant(device, which)) return Value::FromC(device.value);
  }
  return std::nullopt;
}

std::optional<Value> FindDistances() {
  std::vector<DeviceDistance> found;
  const int rc = ComputeDistances(nullptr, nullptr, nullptr, 0, &found);
  if (rc != PMIX_SUCCESS || found.empty()) return std::nullopt;
  return DistanceArray(found);
}

// Returns a topology that the receiver owns, as from PMIx_Load_topology.
std::optional<Value> FindTopology() {
  auto* topology =
      static_cast<pmix_topology_t*>(AllocateZeroed(1, sizeof(pmix_topology_t)));
  if (topology == nullptr) return std::nullopt;
  pmix_value_t value = {};
  value.type = PMIX_TOPO;
  value.data.topo = topology;
  Value owner = Value::Adopt(&value);
  if (LoadTopology(topology) != PMIX_SUCCESS) return std::nullopt;
  return owner;
}

}  // namespace

bool IsNodeKey(std::string_view key) {
  return key == PMIX_FABRIC_DEVICES || key == PMIX_FABRIC_DEVICE ||
         key == PMIX_DEVICE_DISTANCES || key == PMIX_TOPOLOGY2;
}

std::optional<Value> FindNodeKey(std::string_view key,
                                 const DeviceQualifiers& which) {
  if (!which.hostname.empty() && which.hostname != LocalHostName()) {
    return std::nullopt;
  }
  if (key == PMIX_TOPOLOGY2) return FindTopology();
  return key == PMIX_DEVICE_DISTANCES ? FindDistances()
                                      : FindDevices(key, which);
}

}  // namespace canopy::client
