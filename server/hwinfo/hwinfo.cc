#include "server/hwinfo/hwinfo.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "common/hwloc_levels.h"
#include "server/hwinfo/gpus.h"
#include "server/hwinfo/hwloc_api.h"
#include "server/hwinfo/pci_bus.h"

namespace canopy::hwinfo {
namespace {

Status NoLibrary() {
  return {kErrNotFound, "libhwloc.so.15 is not installed; install libhwloc15"};
}

// Owns a topology of libhwloc.
class Handle {
 public:
  explicit Handle(const HwlocApi* api) : api_(api) {
    if (api_->init(&topology_) != 0) topology_ = nullptr;
  }
  ~Handle() {
    if (topology_ != nullptr) api_->destroy(topology_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool ok() const { return topology_ != nullptr; }
  const HwlocApi& api() const { return *api_; }
  hwloc_topology_t get() const { return topology_; }

 private:
  const HwlocApi* api_;
  hwloc_topology_t topology_ = nullptr;
};

CpuSet FromBitmap(const HwlocApi& api, hwloc_const_bitmap_t bitmap) {
  CpuSet set;
  if (bitmap == nullptr) return set;
  for (int cpu = api.bitmap_next(bitmap, -1);
       cpu >= 0 && cpu < static_cast<int>(CpuSet::kMaxCpus);
       cpu = api.bitmap_next(bitmap, cpu)) {
    set.Add(static_cast<uint32_t>(cpu));
  }
  return set;
}

std::vector<CpuSet> ObjectsOf(const Handle& handle, hwloc_obj_type_t type,
                              const CpuSet& cpus) {
  std::vector<CpuSet> objects;
  const HwlocApi& api = handle.api();
  const int depth = api.get_type_depth(handle.get(), type);
  if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) {
    return objects;
  }
  const unsigned count = api.get_nbobjs_by_depth(handle.get(), depth);
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj_t object = api.get_obj_by_depth(handle.get(), depth, i);
    CpuSet set = FromBitmap(api, object->cpuset) & cpus;
    // If several memory objects have the same processors, only the first
    // counts.
    bool taken = set.empty();
    for (const CpuSet& other : objects) taken |= other.Intersects(set);
    if (!taken) objects.push_back(std::move(set));
  }
  return objects;
}

// Makes hwloc look for devices of the PCI bus, but without its plugins that use
// the drivers of GPUs: such a plugin loads libraries of the driver into the
// agent, and may take seconds.
void WantDevices(const Handle& handle) {
  const HwlocApi& api = handle.api();
  api.set_io_types_filter(handle.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  for (const char* plugin : {"cuda", "nvml", "opencl", "rsmi", "gl"}) {
    api.set_components(handle.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                       plugin);
  }
}

PciDevice Describe(const HwlocApi& api, const hwloc_obj* object) {
  const auto& pci = object->attr->pcidev;
  PciDevice device{pci.vendor_id, pci.class_id, 0, {}};
  device.address = uint64_t{pci.domain} << 24 | uint64_t{pci.bus} << 16 |
                   uint64_t{pci.dev} << 8 | pci.func;
  const hwloc_obj* near = object;
  while (near != nullptr && near->cpuset == nullptr) near = near->parent;
  if (near != nullptr) device.cpus = FromBitmap(api, near->cpuset);
  return device;
}

std::vector<Gpu> GpusOf(const Handle& handle) {
  const HwlocApi& api = handle.api();
  std::vector<PciDevice> devices;
  const unsigned count =
      api.get_nbobjs_by_depth(handle.get(), HWLOC_TYPE_DEPTH_PCI_DEVICE);
  for (unsigned i = 0; i < count; ++i) {
    devices.push_back(Describe(
        api,
        api.get_obj_by_depth(handle.get(), HWLOC_TYPE_DEPTH_PCI_DEVICE, i)));
  }
  return FindGpus(std::move(devices), [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  });
}

// Describes the processors, restricted to `limit` unless it is empty. If
// `devices` is true, describes the GPUs as well.
Result<Topology> Summarize(const Handle& handle, const CpuSet& limit,
                           bool devices) {
  const HwlocApi& api = handle.api();
  if (devices) WantDevices(handle);
  if (api.load(handle.get()) != 0) {
    return Status(kErrBadParam, "hwloc cannot load this topology");
  }
  Topology topology;
  topology.cpus = FromBitmap(api, api.get_allowed_cpuset(handle.get()));
  if (topology.cpus.Intersects(limit)) topology.cpus &= limit;
  for (const HwlocLevel& t : kHwlocLevels) {
    topology.at(t.level) = ObjectsOf(handle, t.type, topology.cpus);
  }
  if (topology.Count(TopologyLevel::kHwthread) == 0) {
    return Status(kErrBadParam, "the topology shows no usable CPU");
  }
  if (topology.Count(TopologyLevel::kCore) == 0) {
    topology.at(TopologyLevel::kCore) = topology.at(TopologyLevel::kHwthread);
  }
  topology.memory_bytes =
      api.get_obj_by_depth(handle.get(), 0, 0)->total_memory;
  topology.gpus = GpusOf(handle);
  topology.signature = TopologySignature(topology);
  return topology;
}

// Variables by which hwloc describes another machine than this one.
constexpr const char* kOtherMachine[] = {"HWLOC_XMLFILE", "HWLOC_FSROOT",
                                         "HWLOC_SYNTHETIC", "HWLOC_COMPONENTS"};

bool MayHaveGpus() {
  return ListsGpus(kPciDevices) ||
         std::ranges::any_of(kOtherMachine, [](const char* variable) {
           return std::getenv(variable) != nullptr;
         });
}

Topology Discover() {
  const CpuSet mine = CpuSet::OfThisProcess();
  if (const HwlocApi* api = HwlocApi::Get()) {
    const Handle handle(api);
    if (handle.ok()) {
      Result<Topology> topology = Summarize(handle, mine, MayHaveGpus());
      if (topology.ok()) return *topology;
    }
  }
  Topology flat = FlatTopology(mine);
  flat.memory_bytes = MemoryBytes();
  return flat;
}

}  // namespace

const Topology& ThisMachine() {
  static const Topology topology = Discover();
  return topology;
}

Result<Topology> FromDescription(const std::string& description) {
  const HwlocApi* api = HwlocApi::Get();
  if (api == nullptr) return NoLibrary();
  const Handle handle(api);
  if (!handle.ok() ||
      api->set_synthetic(handle.get(), description.c_str()) != 0) {
    return Status(kErrBadParam, "hwloc does not understand the topology '" +
                                    description + "'");
  }
  return Summarize(handle, CpuSet(), true);
}

Result<Topology> FromXml(const std::string& xml) {
  const HwlocApi* api = HwlocApi::Get();
  if (api == nullptr) return NoLibrary();
  const Handle handle(api);
  if (!handle.ok() ||
      api->set_xmlbuffer(handle.get(), xml.c_str(),
                         static_cast<int>(xml.size()) + 1) != 0) {
    return Status(kErrBadParam, "hwloc does not understand this XML");
  }
  return Summarize(handle, CpuSet(), true);
}

Result<std::string> ThisMachineAsXml() {
  const HwlocApi* api = HwlocApi::Get();
  if (api == nullptr) return NoLibrary();
  const Handle handle(api);
  char* text = nullptr;
  int length = 0;
  if (!handle.ok() || api->load(handle.get()) != 0 ||
      api->export_xmlbuffer(handle.get(), &text, &length, 0) != 0) {
    return Status(kErrServerFailedRequest, "hwloc cannot describe this node");
  }
  // The length includes the terminator.
  std::string xml(text, length > 0 ? static_cast<size_t>(length) - 1 : 0);
  api->free_xmlbuffer(handle.get(), text);
  return xml;
}

uint64_t MemoryBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
}

}  // namespace canopy::hwinfo
