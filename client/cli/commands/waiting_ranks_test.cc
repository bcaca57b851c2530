#include "client/cli/commands/waiting_ranks.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(WaitingRanksTest, ReadsARankOfTheSameOrAnotherJob) {
  auto rank = ReadWaitingRank("job-1", "rank 3 on node2");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->job, "job-1");
  EXPECT_EQ(rank->rank, 3u);
  EXPECT_EQ(rank->node, "node2");
  rank = ReadWaitingRank("job-1", "job-2 rank 0");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->job, "job-2");
  EXPECT_EQ(rank->node, "");
}

TEST(WaitingRanksTest, TextsWithoutARankHaveNoValue) {
  EXPECT_FALSE(ReadWaitingRank("job-1", "and 3 more"));
  EXPECT_FALSE(ReadWaitingRank("job-1", "the scheduler: 2 slots wanted"));
  EXPECT_FALSE(ReadWaitingRank("job-1", "rank x on node1"));
}

}  // namespace
}  // namespace canopy::cli
