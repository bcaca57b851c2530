#include "server/hwinfo/gpus.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace canopy::hwinfo {
namespace {

constexpr uint16_t kNvidiaCards = 0x10de;
constexpr uint16_t kAmdCards = 0x1002;
constexpr uint16_t kAspeedDisplays = 0x1a03;

PciDevice Device(uint16_t vendor, uint16_t device_class, uint64_t address,
                 const std::string& cpus = "") {
  return {vendor, device_class, address, *CpuSet::Parse(cpus)};
}

// Returns the GPUs as text, such as "nvidia:0 (0-3) amd:1".
std::string Found(std::vector<PciDevice> devices,
                  const std::map<std::string, std::string>& environment = {}) {
  const auto listed = [&](const std::string& name) {
    const auto it = environment.find(name);
    return it == environment.end() ? std::string() : it->second;
  };
  std::string out;
  for (const Gpu& gpu : FindGpus(std::move(devices), listed)) {
    out += (out.empty() ? "" : " ") + std::string(ToString(gpu.kind)) + ":" +
           gpu.id;
    if (!gpu.cpus.empty()) out += " (" + gpu.cpus.ToString() + ")";
  }
  return out;
}

TEST(Gpus, GpusAreNumberedInTheOrderOfTheBus) {
  EXPECT_EQ(Found({Device(kNvidiaCards, 0x0302, 0x81, "4-7"),
                   Device(kNvidiaCards, 0x0300, 0x3b, "0-3")}),
            "nvidia:0 (0-3) nvidia:1 (4-7)");
}

TEST(Gpus, EachKindIsNumberedFromZero) {
  EXPECT_EQ(Found({Device(kAmdCards, 0x0380, 1), Device(kAmdCards, 0x1200, 2),
                   Device(kNvidiaCards, 0x0302, 3)}),
            "nvidia:0 amd:0 amd:1");
}

TEST(Gpus, DevicesThatAreNotGpusAreNotCounted) {
  EXPECT_EQ(Found({Device(kAspeedDisplays, 0x0300, 1),
                   Device(kNvidiaCards, 0x0403, 2)}),
            "");
}

TEST(Gpus, AVariableOfTheEnvironmentSelectsTheGpusOfItsKind) {
  const std::vector<PciDevice> devices = {Device(kNvidiaCards, 0x0302, 1, "0"),
                                          Device(kNvidiaCards, 0x0302, 2, "1"),
                                          Device(kAmdCards, 0x0380, 3)};
  EXPECT_EQ(Found(devices, {{"CUDA_VISIBLE_DEVICES", "1"}}),
            "nvidia:1 (1) amd:0");
  EXPECT_EQ(Found(devices, {{"CUDA_VISIBLE_DEVICES", "GPU-8f2a,9"}}),
            "nvidia:GPU-8f2a nvidia:9 amd:0");
  EXPECT_EQ(Found({}, {{"CUDA_VISIBLE_DEVICES", "0"}}), "");
}

}  // namespace
}  // namespace canopy::hwinfo
