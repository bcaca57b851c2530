#include "server/net/line_allowance.h"

#include <gtest/gtest.h>

#include "common/time_units.h"

namespace canopy::net {
namespace {

int64_t TakeAll(LineAllowance* allowance, int64_t now) {
  int64_t lines = 0;
  while (allowance->Take(now)) ++lines;
  return lines;
}

TEST(LineAllowance, ABurstIsFollowedByARate) {
  LineAllowance allowance({100, 10}, 5);
  EXPECT_EQ(TakeAll(&allowance, 5), 100);
  EXPECT_EQ(TakeAll(&allowance, 5 + kNsPerSecond - 1), 0);
  EXPECT_EQ(TakeAll(&allowance, 5 + kNsPerSecond), 10);
  EXPECT_EQ(TakeAll(&allowance, 5 + 3 * kNsPerSecond), 20);
}

TEST(LineAllowance, UnusedSecondsRestoreNoMoreThanTheBurst) {
  LineAllowance allowance({100, 10}, 0);
  TakeAll(&allowance, 0);
  EXPECT_FALSE(allowance.IsFull(9 * kNsPerSecond));
  EXPECT_TRUE(allowance.IsFull(10 * kNsPerSecond));
  EXPECT_EQ(TakeAll(&allowance, 1000 * kNsPerSecond), 100);
}

}  // namespace
}  // namespace canopy::net
