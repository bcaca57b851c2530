#include "server/hwinfo/gpus.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/string_util.h"

namespace canopy::hwinfo {
namespace {

constexpr uint16_t kDisplay = 0x03;
constexpr uint16_t kAccelerator = 0x12;

// Returns the number that an identifier consists of; no value for any other
// identifier.
std::optional<size_t> PositionOf(const std::string& id) {
  size_t position = 0;
  const char* const end = id.data() + id.size();
  const auto [stop, error] = std::from_chars(id.data(), end, position);
  if (error != std::errc() || stop != end) return std::nullopt;
  return position;
}

// Returns the devices that `list` names, in the order of the list.
std::vector<Gpu> Listed(const std::string& list, GpuKind kind,
                        const std::vector<Gpu>& all) {
  std::vector<Gpu> gpus;
  for (const std::string& id : Split(list, ',')) {
    if (id.empty()) continue;
    const std::optional<size_t> position = PositionOf(id);
    Gpu gpu{kind, id, {}};
    if (position && *position < all.size()) gpu.cpus = all[*position].cpus;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace

std::optional<GpuKind> GpuKindOf(uint16_t vendor, uint16_t device_class) {
  const uint16_t base = device_class >> 8;
  if (base != kDisplay && base != kAccelerator) return std::nullopt;
  switch (vendor) {
    case 0x10de:
      return GpuKind::kNvidia;
    case 0x1002:
      return GpuKind::kAmd;
    default:
      return std::nullopt;  // such as the display of a service processor
  }
}

std::vector<Gpu> FindGpus(
    std::vector<PciDevice> devices,
    const std::function<std::string(const std::string&)>& listed) {
  std::ranges::sort(devices, {}, &PciDevice::address);
  std::vector<Gpu> gpus;
  for (const GpuKind kind : kGpuKinds) {
    std::vector<Gpu> own;
    for (const PciDevice& device : devices) {
      if (GpuKindOf(device.vendor, device.device_class) != kind) continue;
      own.push_back({kind, std::to_string(own.size()), device.cpus});
    }
    const std::string list = listed(std::string(VisibleVariable(kind)));
    if (!own.empty() && !list.empty()) own = Listed(list, kind, own);
    gpus.insert(gpus.end(), own.begin(), own.end());
  }
  return gpus;
}

}  // namespace canopy::hwinfo
