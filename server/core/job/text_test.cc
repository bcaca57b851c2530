#include "server/core/job/text.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

TEST(JobText, DescribeRanksJoinsConsecutiveRanks) {
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{3}), "rank 3");
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{0, 1, 2, 7}), "ranks 0-2,7");
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{0, 2, 4, 6, 8, 10}),
            "ranks 0,2,4,6 and 2 more");
}

TEST(JobText, OneLineReplacesControlCharacters) {
  EXPECT_EQ(OneLine("a\tb\nc \n"), "a b c");
  EXPECT_EQ(OneLine(std::string(600, 'x')), std::string(512, 'x') + "...");
}

TEST(JobText, ANodeErrorWithoutATextIsDescribedByItsStatus) {
  EXPECT_EQ(DescribeNodeError({1, -29, ""}, "n1", 1),
            "n1: failed with status -29 (and 1 more node with errors)");
}

}  // namespace
}  // namespace canopy::core
