// The environment can select DriverKind::kThread.
#include <gtest/gtest.h>

#include <cstdlib>

#include "server/rpc/driver_choice.h"

namespace canopy::rpc {
namespace {

TEST(ForcedDriverTest, AnEnvironmentVariableSelectsTheThread) {
  setenv("CANOPY_GRPC_DRIVER", "thread", 1);
  EXPECT_EQ(ChooseDriver().kind, DriverKind::kThread);
  EXPECT_EQ(ChooseDriver().reason, "as CANOPY_GRPC_DRIVER asks");
}

}  // namespace
}  // namespace canopy::rpc
