#include "server/core/publish/recent.h"

#include <gtest/gtest.h>

#include "server/core/publish/digest.h"

namespace canopy::core {
namespace {

TEST(RecentTest, ThousandsOfTheLastItemsAreRemembered) {
  constexpr uint64_t kAdded = 10000;
  Recent recent;
  EXPECT_FALSE(recent.Contains(Mix(1)));
  for (uint64_t i = 1; i <= kAdded; ++i) {
    recent.Add(Mix(i));
    ASSERT_TRUE(recent.Contains(Mix(i)));
  }
  uint64_t found = 0;
  for (uint64_t i = kAdded - 4095; i <= kAdded; ++i) {
    found += recent.Contains(Mix(i)) ? 1 : 0;
  }
  EXPECT_GT(found, 4000u);
  for (uint64_t i = kAdded + 1; i <= 2 * kAdded; ++i) {
    ASSERT_FALSE(recent.Contains(Mix(i)));
  }
}

TEST(RecentTest, ARepeatedItemDoesNotReplaceAnother) {
  Recent recent;
  recent.Add(Mix(1));
  for (int i = 0; i < 100; ++i) recent.Add(Mix(2));
  EXPECT_TRUE(recent.Contains(Mix(1)));
  EXPECT_TRUE(recent.Contains(Mix(2)));
}

}  // namespace
}  // namespace canopy::core
