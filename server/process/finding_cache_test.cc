#include "server/process/finding_cache.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

TEST(FindingCacheTest, KeepsTheFindingsThatWereUsedLast) {
  FindingCache cache;
  EXPECT_EQ(cache.Get("a"), "");
  cache.Put("a", "1");
  cache.Put("a", "2");
  EXPECT_EQ(cache.Get("a"), "2");
  for (int i = 0; i < 127; ++i) cache.Put("b" + std::to_string(i), "x");
  EXPECT_EQ(cache.Get("a"), "2");
  cache.Put("c", "x");
  EXPECT_EQ(cache.Get("b0"), "");
  EXPECT_EQ(cache.Get("b1"), "x");
  EXPECT_EQ(cache.Get("a"), "2");
}

TEST(FindingCacheTest, AFindingThatIsTooLargeIsNotKept) {
  FindingCache cache;
  cache.Put("a", std::string(64u << 10, 'x'));
  EXPECT_EQ(cache.Get("a"), "");
}

TEST(FindingKeyTest, TheKeyChangesWithEachInputOfTheFinding) {
  PrepareJob job;
  job.library = "/l/libpmix.so.2";
  job.env = {"PATH=/bin", "OTHER=1"};
  AppSpec app;
  app.program = "a";
  const std::string key = FindingKey(job, app);
  job.env[1] = "OTHER=2";
  EXPECT_EQ(FindingKey(job, app), key);
  PrepareJob other = job;
  other.uid = 7;
  EXPECT_NE(FindingKey(other, app), key);
  other = job;
  other.env[0] = "PATH=/usr/bin";
  EXPECT_NE(FindingKey(other, app), key);
  app.env = {"LD_PRELOAD=x"};
  EXPECT_NE(FindingKey(job, app), key);
}

}  // namespace
}  // namespace canopy::process
