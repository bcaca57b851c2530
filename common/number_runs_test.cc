#include "common/number_runs.h"

#include <cstdint>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace canopy {
namespace {

TEST(NumberRuns, EachIsNewOnce) {
  NumberRuns runs;
  EXPECT_TRUE(runs.empty());
  EXPECT_TRUE(runs.Insert(UINT64_MAX));
  EXPECT_TRUE(runs.Insert(0));
  EXPECT_FALSE(runs.Insert(0));
  EXPECT_FALSE(runs.Insert(UINT64_MAX));
  EXPECT_FALSE(runs.Contains(1));
  runs.Erase(1);
  runs.Erase(0);
  runs.Erase(UINT64_MAX);
  EXPECT_TRUE(runs.empty());
}

// Whatever the order in which they come and go.
TEST(NumberRuns, IsASet) {
  std::mt19937 random(1);
  NumberRuns runs;
  std::set<uint64_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t number = random() % 64;
    if (random() % 2 == 0) {
      EXPECT_EQ(runs.Insert(number), expected.insert(number).second);
    } else {
      runs.Erase(number);
      expected.erase(number);
    }
    EXPECT_EQ(runs.Contains(number), expected.contains(number));
    EXPECT_EQ(runs.empty(), expected.empty());
  }
  for (uint64_t number = 0; number < 64; ++number) {
    EXPECT_EQ(runs.Contains(number), expected.contains(number)) << number;
  }
}

}  // namespace
}  // namespace canopy
