#include "server/hwinfo/pci_bus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace canopy::hwinfo {
namespace {

class PciBusTest : public testing::Test {
 protected:
  PciBusTest() { std::filesystem::create_directories(bus_); }
  ~PciBusTest() override { std::filesystem::remove_all(bus_); }

  void Add(const std::string& address, const std::string& vendor,
           const std::string& device_class) {
    const std::string device = bus_ + "/" + address;
    std::filesystem::create_directory(device);
    std::ofstream(device + "/vendor") << vendor << "\n";
    std::ofstream(device + "/class") << device_class << "\n";
  }

  const std::string bus_ = testing::TempDir() + "/pci_bus";
};

TEST_F(PciBusTest, FindsGpusByVendorAndClass) {
  EXPECT_FALSE(ListsGpus(bus_));
  Add("0000:00:00.0", "0x8086", "0x060000");
  Add("0000:00:01.0", "0x8086", "0x030000");  // a display of the chipset
  Add("0000:00:02.0", "0x10de", "0x020000");  // a network card of that vendor
  EXPECT_FALSE(ListsGpus(bus_));
  Add("0000:3b:00.0", "0x10de", "0x030200");
  EXPECT_TRUE(ListsGpus(bus_));
}

TEST_F(PciBusTest, AnAcceleratorIsAGpu) {
  Add("0000:3b:00.0", "0x1002", "0x120000");
  EXPECT_TRUE(ListsGpus(bus_));
}

TEST_F(PciBusTest, AnUnreadableListHasNoGpus) {
  EXPECT_FALSE(ListsGpus(bus_ + "/none"));
  std::filesystem::create_directory(bus_ + "/0000:00:00.0");
  EXPECT_FALSE(ListsGpus(bus_));
}

}  // namespace
}  // namespace canopy::hwinfo
