#include "server/agent/bring_up/file_limit.h"

#include <gtest/gtest.h>

namespace canopy::agent {
namespace {

rlim_t Soft() {
  rlimit now = {};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  return now.rlim_cur;
}

TEST(FileLimit, TheLimitIsRaisedUntilRestore) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GE(before.rlim_max, 200u);
  const rlimit low = {200, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  {
    FileLimit limit;
    EXPECT_EQ(limit.original(), 200u);
    EXPECT_EQ(Soft(), before.rlim_max);
    limit.Restore();
    EXPECT_EQ(Soft(), 200u);
  }
  EXPECT_EQ(Soft(), 200u);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace canopy::agent
