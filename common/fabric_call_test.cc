#include "common/fabric_call.h"

#include <string>

#include "common/host_op.h"
#include "gtest/gtest.h"

namespace canopy {
namespace {

TEST(FabricCall, ComesBack) {
  FabricCall call;
  ASSERT_TRUE(DecodeFabricCall(EncodeFabricCall({1, "infos"}), &call));
  EXPECT_EQ(call.operation, 1);
  EXPECT_EQ(call.infos, "infos");
}

TEST(FabricCall, WhatIsCutOrTooLongIsMalformed) {
  const std::string whole = EncodeFabricCall({1, "infos"});
  FabricCall call;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeFabricCall(whole.substr(0, size), &call)) << size;
  }
  EXPECT_FALSE(DecodeFabricCall(whole + "x", &call));
}

// Messages between agents do not carry the operation.
TEST(FabricCall, IsNoCallBetweenAgents) {
  EXPECT_FALSE(IsHostOp(HostOp::kFabric));
}

}  // namespace
}  // namespace canopy
