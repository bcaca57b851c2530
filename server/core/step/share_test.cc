#include "server/core/step/share.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::core {
namespace {

TEST(Share, OneJobMayUseHalfOfTheTable) {
  EXPECT_TRUE(HasShare(100, 49, 49));
  EXPECT_FALSE(HasShare(100, 50, 50));
}

TEST(Share, EachFurtherJobMayUseHalfOfTheRest) {
  std::vector<size_t> jobs(6);
  size_t all = 0;
  for (size_t& own : jobs) {
    while (HasShare(4096, all, own)) ++own, ++all;
  }
  EXPECT_EQ(jobs, (std::vector<size_t>{2048, 1024, 512, 256, 128, 64}));
  EXPECT_TRUE(HasShare(4096, all, 0));
}

TEST(Share, ATableOfOneEntryIsForOneJob) {
  EXPECT_TRUE(HasShare(1, 0, 0));
  EXPECT_FALSE(HasShare(1, 1, 0));
  EXPECT_FALSE(HasShare(1, 1, 1));
  EXPECT_FALSE(HasShare(0, 0, 0));
}

}  // namespace
}  // namespace canopy::core
