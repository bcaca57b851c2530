#include "server/hwinfo/pci_bus.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "server/hwinfo/gpus.h"

namespace canopy::hwinfo {
namespace {

// Returns the number in a file of sysfs, such as "0x10de"; 0 if there is none.
uint32_t NumberIn(const std::filesystem::path& file) {
  uint32_t number = 0;
  std::ifstream(file) >> std::hex >> number;
  return number;
}

}  // namespace

bool ListsGpus(const std::string& directory) {
  constexpr int kInterfaceBits = 8;  // programming interface, after the class
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    const uint32_t device_class = NumberIn(entry.path() / "class");
    const uint32_t vendor = NumberIn(entry.path() / "vendor");
    if (GpuKindOf(static_cast<uint16_t>(vendor),
                  static_cast<uint16_t>(device_class >> kInterfaceBits))) {
      return true;
    }
  }
  return false;
}

}  // namespace canopy::hwinfo
