#include "client/cli/options/hostfile.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(HostfileTest, LoadingAMissingFileReturnsNotFound) {
  EXPECT_EQ(LoadHostfile("/nonexistent/file").code(), kErrNotFound);
}

}  // namespace
}  // namespace canopy::cli
