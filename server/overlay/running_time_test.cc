#include "server/overlay/running_time.h"

#include <gtest/gtest.h>

namespace canopy::overlay {
namespace {

constexpr int64_t kMs = 1000000;
constexpr int64_t kPeriod = 2000 * kMs;

// Ends steps, each `late` nanoseconds late, until the period is over; returns
// the total time.
int64_t Finish(RunningTime* time, int64_t now, int64_t late) {
  const int64_t begun = now;
  do {
    now += time->step() + late;
  } while (!time->EndStep(now));
  return now - begun;
}

TEST(RunningTimeTest, WithoutStallsTheTimeEndsAfterThePeriod) {
  RunningTime time(kPeriod, 5);
  EXPECT_EQ(Finish(&time, 5, 0), kPeriod);
}

TEST(RunningTimeTest, LeftReturnsTheRestOfThePeriod) {
  RunningTime time(kPeriod, 0);
  EXPECT_EQ(time.Left(100 * kMs), kPeriod - 100 * kMs);
  const int64_t step = time.step();
  EXPECT_FALSE(time.EndStep(step));
  EXPECT_EQ(time.Left(step + 7 * kMs), kPeriod - step - 7 * kMs);
  EXPECT_EQ(time.Left(3 * kPeriod), 0);
}

TEST(RunningTimeTest, ThePeriodEndsDespiteShortDelays) {
  RunningTime time(kPeriod, 0);
  EXPECT_LE(Finish(&time, 0, 40 * kMs), kPeriod + 8 * 40 * kMs);
}

TEST(RunningTimeTest, AStallInTheMiddleRestartsThePeriod) {
  RunningTime time(kPeriod, 0);
  int64_t now = time.step();
  EXPECT_FALSE(time.EndStep(now));
  // An agent that counted the stall would regard the period as over now.
  now += 10 * kPeriod;
  EXPECT_FALSE(time.EndStep(now));
  EXPECT_EQ(Finish(&time, now, 0), kPeriod);
}

TEST(RunningTimeTest, AStallInTheLastStepRestartsThePeriod) {
  RunningTime time(kPeriod, 0);
  int64_t now = 0;
  for (int i = 0; i < 7; ++i) {
    now += time.step();
    EXPECT_FALSE(time.EndStep(now));
  }
  now += time.step() + kPeriod;
  EXPECT_FALSE(time.EndStep(now));
  EXPECT_EQ(Finish(&time, now, 0), kPeriod);
}

TEST(RunningTimeTest, AVeryShortPeriodEndsInTime) {
  for (const int64_t period : {int64_t{1}, kMs / 2, kMs, 3 * kMs}) {
    RunningTime time(period, 0);
    EXPECT_EQ(Finish(&time, 0, 0), period);
  }
}

}  // namespace
}  // namespace canopy::overlay
