#include "common/check.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(CheckTest, ATrueConditionReportsNothing) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(CANOPY_CHECK(1 + 1 == 2));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(CheckTest, TheConditionIsEvaluatedOnce) {
  int n = 0;
  CANOPY_CHECK(++n > 0);
  EXPECT_EQ(n, 1);
}

TEST(CheckDeathTest, AFailureEndsTheProgramInEveryBuild) {
  const int n = 3;
  EXPECT_DEATH(CANOPY_CHECK(n == 4), "check_test.cc:.*check failed: n == 4");
}

}  // namespace
}  // namespace canopy
