#include "server/scheduler/contract/times.h"

#include <gtest/gtest.h>

namespace canopy::scheduler {
namespace {

TEST(TimesTest, TimesSurviveARoundTrip) {
  for (const int64_t ms : {int64_t{0}, int64_t{1'795'857'936'204}, int64_t{1},
                           int64_t{-1}, int64_t{-1500}}) {
    const google::protobuf::Timestamp time = TimestampOf(ms);
    EXPECT_GE(time.nanos(), 0);
    EXPECT_EQ(MsOf(time), ms);
  }
}

TEST(TimesTest, TimesBeyondTheRangeAreLimited) {
  google::protobuf::Timestamp time;
  time.set_seconds(int64_t{1} << 62);
  EXPECT_EQ(MsOf(time), 253'402'300'799'000);
}

TEST(TimesTest, DurationsAreRoundedUpAndLimited) {
  EXPECT_EQ(SecondsOf(DurationOfMs(1)), 1u);
  EXPECT_EQ(SecondsOf(DurationOfMs(2000)), 2u);
  EXPECT_EQ(SecondsOf(DurationOfSeconds(-3)), 0u);
  EXPECT_EQ(SecondsOf(DurationOfMs(-1)), 0u);
  EXPECT_EQ(SecondsOf(DurationOfSeconds(int64_t{1} << 40)), UINT32_MAX);
  EXPECT_EQ(SecondsOf({}), 0u);
}

}  // namespace
}  // namespace canopy::scheduler
