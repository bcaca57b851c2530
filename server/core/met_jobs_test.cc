#include "server/core/met_jobs.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

TEST(MetJobs, JobsThatTakePartInOneOperationHaveMet) {
  MetJobs met;
  met.Note({{"a", 0}, {"b", 0}, {"b", 1}});
  met.Note({{"b", 0}, {"c", kRankWildcard}});
  EXPECT_TRUE(met.Contains("b", "a"));
  EXPECT_TRUE(met.Contains("b", "c"));
  EXPECT_FALSE(met.Contains("a", "c"));
}

TEST(MetJobs, AnOperationOfOneJobIsNotRecorded) {
  MetJobs met;
  met.Note({{"a", 0}, {"a", 1}});
  met.Note({});
  EXPECT_FALSE(met.Contains("a", "a"));
}

TEST(MetJobs, TheEndOfOneJobDoesNotSeparateTheOthers) {
  MetJobs met;
  met.Note({{"a", 0}, {"b", 0}, {"c", 0}});
  met.OnJobRemoved("a");
  EXPECT_FALSE(met.Contains("a", "b"));
  EXPECT_TRUE(met.Contains("b", "c"));
  met.OnJobRemoved("c");
  EXPECT_FALSE(met.Contains("b", "c"));
}

}  // namespace
}  // namespace canopy::core
