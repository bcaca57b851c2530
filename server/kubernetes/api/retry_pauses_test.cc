#include "server/kubernetes/api/retry_pauses.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace canopy::kubernetes {
namespace {

TEST(RetryPausesTest, PausesGrowToTheirLimit) {
  RetryPauses pauses(1000, 5000);
  for (const int64_t longest : {1000, 2000, 4000, 5000, 5000}) {
    const int64_t pause = pauses.Next(std::nullopt);
    EXPECT_LE(pause, longest);
    EXPECT_GE(pause, longest / 2);
  }
  pauses.Reset();
  EXPECT_LE(pauses.Next(std::nullopt), 1000);
}

TEST(RetryPausesTest, PausesDiffer) {
  RetryPauses pauses(1'000'000, 1'000'000);
  std::set<int64_t> seen;
  for (int i = 0; i < 20; ++i) seen.insert(pauses.Next(std::nullopt));
  EXPECT_GT(seen.size(), 10u);
}

TEST(RetryPausesTest, APauseIsAsLongAsTheServerRequests) {
  RetryPauses pauses(1000, 5000);
  const int64_t pause = pauses.Next(1'000'000);
  EXPECT_GT(pause, 1'000'000);
  EXPECT_LE(pause, 1'001'000);
  EXPECT_LE(pauses.Next(INT64_MAX), RetryPauses::kLongestRequestedNs + 2000);
  EXPECT_GT(pauses.Next(-1), 0);
}

}  // namespace
}  // namespace canopy::kubernetes
