#include "server/rpc/self_test.h"

#include <gtest/gtest.h>

namespace canopy::rpc {
namespace {

TEST(SelfTestTest, TheSelfTestPassesRepeatedlyWithTheInstalledGrpc) {
  for (int i = 0; i < 20; ++i) {
    const absl::Status status = TestInLoopDriver();
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace canopy::rpc
