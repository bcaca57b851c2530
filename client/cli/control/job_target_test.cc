#include "client/cli/control/job_target.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace canopy::cli {
namespace {

// The integration tests cover running overlays.
TEST(JobTargetTest, FindOverlayAndFindJobTargetFailAlikeWithoutAnOverlay) {
  ASSERT_EQ(setenv("HOME", testing::TempDir().c_str(), 1), 0);
  for (const char* name : {"XDG_STATE_HOME", "CANOPY_CONTEXT"}) unsetenv(name);
  const auto overlay = FindOverlay("absent");
  ASSERT_FALSE(overlay.ok());
  const auto job = FindJobTarget("absent", "1");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.status().code(), overlay.status().code());
  EXPECT_EQ(job.status().message(), overlay.status().message());
}

}  // namespace
}  // namespace canopy::cli
