#include "common/host_call.h"

#include <gtest/gtest.h>

#include <string>

#include "common/host_op.h"

namespace canopy {
namespace {

TEST(HostCall, EveryCallHasItsInfosInTheSameField) {
  const auto infos_in = [](const std::string& call) {
    host_call::Infos infos;
    EXPECT_TRUE(wire::Decode(call, &infos));
    return std::string(infos.infos);
  };
  EXPECT_EQ(infos_in(wire::Encode(host_call::Allocate{1, "a"})), "a");
  EXPECT_EQ(infos_in(wire::Encode(host_call::Monitor{"x", -1, "b"})), "b");
  EXPECT_EQ(infos_in(wire::Encode(host_call::Log{"x", "c"})), "c");
  EXPECT_EQ(infos_in(wire::Encode(host_call::ControlSession{7, "d"})), "d");
  EXPECT_EQ(infos_in(wire::Encode(host_call::Query{{"k"}, "e"})), "e");
  EXPECT_EQ(infos_in(wire::Encode(host_call::Fabric{1, "f"})), "f");
}

TEST(HostCall, TheNumberOfUnitsOfABlockIsLimited) {
  host_call::BlockResources block;
  block.block = "block";
  block.units = {{4, 2}};
  block.units.resize(host_call::kMaxUnits);
  host_call::BlockResources read;
  std::string bytes = wire::Encode(block);
  ASSERT_TRUE(wire::Decode(bytes, &read));
  EXPECT_EQ(read.block, "block");
  EXPECT_EQ(read.units[0].type, 4u);
  EXPECT_EQ(read.units[0].count, 2u);
  block.units.resize(host_call::kMaxUnits + 1);
  bytes = wire::Encode(block);
  EXPECT_FALSE(wire::Decode(bytes, &read));
}

// Messages between agents do not carry the operation.
TEST(HostCall, AgentsDoNotForwardCallsAboutFabrics) {
  EXPECT_FALSE(IsHostOp(HostOp::kFabric));
}

}  // namespace
}  // namespace canopy
