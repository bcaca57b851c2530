#include "common/gpu.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace canopy {
namespace {

using Texts = std::vector<std::string>;

TEST(Gpu, JoinGpusAndGpuNamesAreInverse) {
  const std::vector<Gpu> gpus = {{GpuKind::kAmd, "0", {}},
                                 {GpuKind::kAmd, "3", {}}};
  EXPECT_EQ(JoinGpus(gpus), "amd:0,3");
  EXPECT_EQ(GpuNames("amd:0,3"), (Texts{"amd:0", "amd:3"}));
  EXPECT_EQ(JoinGpus({}), "");
  EXPECT_EQ(GpuNames(""), Texts{});
  EXPECT_EQ(GpuName(gpus[1]), "amd:3");
}

TEST(Gpu, AProcessSeesItsGpusByTheVariableOfTheirKind) {
  EXPECT_EQ(
      GpuVariables("nvidia:1,2"),
      (Texts{"CUDA_VISIBLE_DEVICES=1,2", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
  EXPECT_EQ(GpuVariables("amd:0"), Texts{"ROCR_VISIBLE_DEVICES=0"});
}

TEST(Gpu, InvalidTextHasNoVariables) {
  for (const char* text : {"", "nvidia", "nvidia:", ":0", "voodoo:2"}) {
    EXPECT_EQ(GpuVariables(text), Texts{}) << text;
  }
}

}  // namespace
}  // namespace canopy
