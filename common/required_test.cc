#include "common/required.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(RequiredTest, Gen12UntilItIsMarked) {
  EXPECT_FALSE(MustHonour(0));
  EXPECT_TRUE(MustHonour(kInfoRequired));
  EXPECT_FALSE(MustHonour(kInfoRequired | kInfoRequiredProcessed));
  EXPECT_FALSE(MustHonour(kInfoRequiredProcessed));
  EXPECT_TRUE(MustHonour(kInfoRequired | 2));  // the end of an array
}

}  // namespace
}  // namespace canopy
