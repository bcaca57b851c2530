#include "server/core/request_number.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

TEST(RequestNumberTest, EachProcessOfARankHasRequestNumbersOfItsOwn) {
  JobTable jobs(0);
  jobs.Add(JobOn("job", {0}));
  const uint64_t first = RequestNumber(jobs, {"job", 0}, 7);
  EXPECT_EQ(first, 7u);
  jobs.MarkRestarted("job", 0, 1);
  EXPECT_NE(RequestNumber(jobs, {"job", 0}, 7), first);
  EXPECT_GT(RequestNumber(jobs, {"job", 0}, 8),
            RequestNumber(jobs, {"job", 0}, 7));
  EXPECT_EQ(RequestNumber(jobs, {"tool", 0}, 7), 7u);
  EXPECT_EQ(RequestNumber(jobs, {"job", 1}, 7), 7u) << "no such rank";
}

}  // namespace
}  // namespace canopy::core
