// gRPC was used before its poll function could be replaced. Therefore kInLoop
// cannot work, and kThread is selected.
#include <grpc/grpc.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "server/rpc/driver_choice.h"
#include "server/rpc/self_test.h"

namespace canopy::rpc {
namespace {

TEST(SelfTestFailsTest, ChooseDriverSelectsTheThreadIfTheSelfTestFails) {
  setenv("GRPC_POLL_STRATEGY", "epoll1", 1);
  grpc_init();
  const absl::Status status = TestInLoopDriver();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const DriverChoice& choice = ChooseDriver();
  EXPECT_EQ(choice.kind, DriverKind::kThread);
  EXPECT_NE(choice.reason.find("does not wait"), std::string::npos)
      << choice.reason;
  grpc_shutdown();
}

}  // namespace
}  // namespace canopy::rpc
