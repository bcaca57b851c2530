#include "common/number_runs.h"

#include <cstdint>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace canopy {
namespace {

TEST(NumberRuns, HoldsTheLowestAndTheHighestNumber) {
  NumberRuns runs;
  EXPECT_TRUE(runs.empty());
  runs.Insert(UINT64_MAX, UINT64_MAX);
  runs.Insert(0, 0);
  EXPECT_TRUE(runs.Contains(0));
  EXPECT_TRUE(runs.Contains(UINT64_MAX));
  EXPECT_FALSE(runs.Contains(1));
  EXPECT_EQ(runs.Above(1), UINT64_MAX);
  runs.Erase(1);
  runs.Erase(0);
  runs.Erase(UINT64_MAX);
  EXPECT_TRUE(runs.empty());
}

// Inserts the number and the absent numbers that follow it, at most `count`.
void InsertSome(uint64_t number, uint64_t count, NumberRuns* runs,
                std::set<uint64_t>* expected) {
  if (expected->contains(number)) return;
  uint64_t last = number;
  while (last < number + count && !expected->contains(last + 1)) ++last;
  runs->Insert(number, last);
  while (number <= last) expected->insert(number++);
}

// Compares with std::set while numbers come and go in random order.
TEST(NumberRuns, BehavesLikeASet) {
  std::mt19937 random(1);
  NumberRuns runs;
  std::set<uint64_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t number = random() % 64;
    if (random() % 3 == 0) {
      InsertSome(number, random() % 4, &runs, &expected);
    } else {
      runs.Erase(number);
      expected.erase(number);
    }
    EXPECT_EQ(runs.Contains(number), expected.contains(number));
    EXPECT_EQ(runs.empty(), expected.empty());
    if (expected.contains(number)) continue;
    const auto above = expected.upper_bound(number);
    EXPECT_EQ(runs.Above(number),
              above == expected.end() ? UINT64_MAX : *above);
  }
  for (uint64_t number = 0; number < 70; ++number) {
    EXPECT_EQ(runs.Contains(number), expected.contains(number)) << number;
  }
}

}  // namespace
}  // namespace canopy
