#include "client/topology/link_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/values/value.h"

namespace canopy::client {
namespace {

class LinkFilesTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ + "/class/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  InfoList LinkOf(pmix_device_type_t type, const std::string& name) const {
    InfoList device;
    AddLink(root_, type, name, &device);
    return device;
  }

  const std::string root_ = testing::TempDir() + "/link_files";
};

TEST_F(LinkFilesTest, TheLinkOfANetworkDeviceIsRead) {
  Write("net/eno1/mtu", "9000");
  Write("net/eno1/speed", "25000");
  Write("net/eno1/operstate", "up");
  std::filesystem::create_directories(root_ + "/class/net/eno1/device");
  std::filesystem::remove(root_ + "/class/net/eno1/device/driver");
  std::filesystem::create_symlink("../../../bus/pci/drivers/i40e",
                                  root_ + "/class/net/eno1/device/driver");
  const InfoList link = LinkOf(PMIX_DEVTYPE_NETWORK, "eno1");
  EXPECT_EQ(link.FindString(PMIX_FABRIC_DEVICE_DRIVER), "i40e");
  EXPECT_EQ(link.FindUint(PMIX_FABRIC_DEVICE_MTU), 9000u);
  EXPECT_EQ(link.FindUint(PMIX_FABRIC_DEVICE_SPEED), 25'000'000'000u);
  EXPECT_EQ(link.FindUint(PMIX_FABRIC_DEVICE_STATE), PMIX_LINK_UP);
}

TEST_F(LinkFilesTest, TheLinkOfAnOpenFabricsDeviceIsRead) {
  Write("infiniband/mlx5_0/fw_ver", "20.31.1014");
  Write("infiniband/mlx5_0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  Write("infiniband/mlx5_0/ports/1/state", "1: DOWN");
  Write("infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
  const InfoList link = LinkOf(PMIX_DEVTYPE_OPENFABRICS, "mlx5_0");
  EXPECT_EQ(link.FindString(PMIX_FABRIC_DEVICE_FIRMWARE), "20.31.1014");
  EXPECT_EQ(link.FindString(PMIX_FABRIC_DEVICE_TYPE), "InfiniBand");
  EXPECT_EQ(link.FindUint(PMIX_FABRIC_DEVICE_SPEED), 2'500'000'000u);
  EXPECT_EQ(link.FindUint(PMIX_FABRIC_DEVICE_STATE), PMIX_LINK_DOWN);
}

// The kernel reports -1 as the speed of a link that is down.
TEST_F(LinkFilesTest, UnknownPropertiesAreLeftOut) {
  Write("net/eno2/speed", "-1");
  Write("net/eno2/operstate", "unknown");
  EXPECT_TRUE(LinkOf(PMIX_DEVTYPE_NETWORK, "eno2").empty());
  EXPECT_TRUE(LinkOf(PMIX_DEVTYPE_NETWORK, "none").empty());
  EXPECT_TRUE(LinkOf(PMIX_DEVTYPE_OPENFABRICS, "none").empty());
}

}  // namespace
}  // namespace canopy::client
