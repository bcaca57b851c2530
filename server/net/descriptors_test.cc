#include "server/net/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace canopy::net {
namespace {

class DescriptorsTest : public ::testing::Test {
 protected:
  DescriptorsTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorsTest() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void Limit(rlim_t most) const {
    rlimit limit = before_;
    limit.rlim_cur = most;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_ = {};
};

TEST_F(DescriptorsTest, AQuarterOfTheLimitIsReserved) {
  Limit(400);
  EXPECT_EQ(SupplyAt(0), Supply::kPlenty);
  EXPECT_EQ(SupplyAt(299), Supply::kPlenty);
  EXPECT_EQ(SupplyAt(300), Supply::kScarce);
  EXPECT_EQ(SupplyAt(349), Supply::kScarce);
  EXPECT_EQ(SupplyAt(350), Supply::kExhausted);
  EXPECT_EQ(SupplyAt(399), Supply::kExhausted);
  // The limit may have been lowered after the descriptor was opened.
  EXPECT_EQ(SupplyAt(1000), Supply::kExhausted);
}

TEST_F(DescriptorsTest, AtMost256DescriptorsAreReserved) {
  if (before_.rlim_max < 4000) GTEST_SKIP() << "not allowed to have 4000";
  Limit(4000);
  EXPECT_EQ(SupplyAt(3743), Supply::kPlenty);
  EXPECT_EQ(SupplyAt(3744), Supply::kScarce);
}

}  // namespace
}  // namespace canopy::net
