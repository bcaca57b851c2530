#include "server/core/collective/connections.h"

#include <gtest/gtest.h>

#include "common/status.h"

namespace canopy::core {
namespace {

const std::vector<ProcId> kBoth = {{"a", kRankWildcard}, {"b", 1}};

TEST(Connections, ConnectionsLastFromConnectToDisconnect) {
  Connections connections;
  connections.OnCompleted(CollectiveOp::kConnect, kBoth, kErrTimeout);
  connections.OnCompleted(CollectiveOp::kFence, kBoth, kSuccess);
  EXPECT_FALSE(connections.Contains(kBoth));
  connections.OnCompleted(CollectiveOp::kConnect, kBoth, kSuccess);
  EXPECT_TRUE(connections.Contains(kBoth));
  // A process that tried to disconnect no longer depends on the processes to
  // which it was connected.
  connections.OnCompleted(CollectiveOp::kDisconnect, kBoth, kErrTimeout);
  EXPECT_EQ(connections.size(), 0u);
}

TEST(Connections, FindsConnectionsOfAProcessAcrossJobs) {
  Connections connections;
  connections.Recover(kBoth, true);
  connections.Recover({{"a", 1}, {"a", 2}}, true);
  EXPECT_EQ(connections.Of({"a", 1}).size(), 1u);
  EXPECT_EQ(connections.Of({"b", 1}).size(), 1u);
  EXPECT_TRUE(connections.Of({"b", 2}).empty());
  connections.DropJob("b");
  EXPECT_EQ(connections.size(), 1u);
  connections.Recover({{"a", 1}, {"a", 2}}, false);
  EXPECT_EQ(connections.size(), 0u);
}

}  // namespace
}  // namespace canopy::core
