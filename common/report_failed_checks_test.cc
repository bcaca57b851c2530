#include <gtest/gtest.h>

#include <string>

#include "common/check.h"

namespace canopy {
namespace {

bool Fails() { return CANOPY_CHECK(2 + 2 == 5); }

TEST(ReportFailedChecksTest, TheProgramContinuesAfterAFailedCheck) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Fails());
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("check failed: 2 + 2 == 5"), std::string::npos);
}

TEST(ReportFailedChecksTest, ReportsAreBounded) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(Fails());
  EXPECT_LT(testing::internal::GetCapturedStderr().size(), 4096u);
}

}  // namespace
}  // namespace canopy
