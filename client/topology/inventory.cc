#include "client/topology/inventory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client/topology/device.h"
#include "client/topology/fabric.h"
#include "client/topology/machine.h"
#include "common/posix/host_name.h"
#include "common/topology.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_deprecated.h"

namespace canopy::client {
namespace {

// Returns the topology as XML, or an empty string if hwloc cannot write it.
std::string XmlOf(const Machine& machine) {
  char* text = nullptr;
  int size = 0;
  const HwlocLibrary& library = machine.library();
  if (library.export_xmlbuffer(machine.topology(), &text, &size, 0) != 0) {
    return "";
  }
  std::string xml = text;
  library.free_xmlbuffer(machine.topology(), text);
  return xml;
}

uint64_t MemoryOf(const Machine& machine) {
  return machine.library()
      .get_obj_by_depth(machine.topology(), 0, 0)
      ->total_memory;
}

}  // namespace

int CollectInventory(InfoList* inventory) {
  const std::unique_ptr<const Machine> machine = Machine::Look();
  if (machine == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  InfoList node;
  node.Add(PMIX_HOSTNAME, Value::String(LocalHostName()));
  node.Add(PMIX_AVAIL_PHYS_MEMORY, Value::Uint64(MemoryOf(*machine)));
  node.Add(PMIX_TOPOLOGY_SIGNATURE,
           Value::String(TopologySignature(machine->processors())));
  const std::string xml = XmlOf(*machine);
  if (!xml.empty()) node.Add(PMIX_TOPOLOGY_XML, Value::String(xml));
  const InfoList devices = DescribeDevices(FindFabrics(*machine));
  if (!devices.empty()) {
    node.Add(PMIX_FABRIC_DEVICES, Value::InfoArray(devices));
  }
  inventory->Clear();
  inventory->Add(PMIX_NODE_INFO_ARRAY, Value::InfoArray(node));
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
