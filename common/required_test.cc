#include "common/required.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(RequiredTest, IsRequiredUntilItIsMarkedAsProcessed) {
  EXPECT_FALSE(MustHonour(0));
  EXPECT_TRUE(MustHonour(kInfoRequired));
  EXPECT_FALSE(MustHonour(kInfoRequired | kInfoRequiredProcessed));
  EXPECT_FALSE(MustHonour(kInfoRequiredProcessed));
  // Flag 2 marks the end of an array.
  EXPECT_TRUE(MustHonour(kInfoRequired | 2));
}

}  // namespace
}  // namespace canopy
