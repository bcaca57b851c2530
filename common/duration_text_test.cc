#include "common/duration_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace canopy {
namespace {

// Returns milliseconds, or -1 for a text that is refused.
int64_t Ms(std::string_view text) {
  const auto parsed = ParseDuration(text);
  return parsed ? parsed->count() : -1;
}

int64_t SlurmMs(std::string_view text) {
  const auto parsed = ParseSlurmDuration(text);
  return parsed ? parsed->count() : -1;
}

TEST(DurationTextTest, NumbersAreSecondsUnlessTheyHaveAUnit) {
  EXPECT_EQ(Ms("90"), 90000);
  EXPECT_EQ(Ms("0"), 0);
  EXPECT_EQ(Ms("90s"), 90000);
  EXPECT_EQ(Ms("500ms"), 500);
  EXPECT_EQ(Ms("10m"), 600000);
  EXPECT_EQ(Ms("2h"), 7200000);
  EXPECT_EQ(Ms("1d"), 86400000);
}

TEST(DurationTextTest, FractionsAreReadInMilliseconds) {
  EXPECT_EQ(Ms("0.5"), 500);
  EXPECT_EQ(Ms(".25"), 250);
  EXPECT_EQ(Ms("1.5m"), 90000);
  EXPECT_EQ(Ms("0.0019"), 1);
}

TEST(DurationTextTest, ClockTimesAreMinutesAndSecondsOrWithHours) {
  EXPECT_EQ(Ms("1:30"), 90000);
  EXPECT_EQ(Ms("90:00"), 5400000);
  EXPECT_EQ(Ms("1:00:05"), 3605000);
}

TEST(DurationTextTest, TextsThatAreNotDurationsAreRejected) {
  for (const char* text :
       {"", ".", "m", "-1", "1:", ":1", "1:60", "1:2:3:4", "1.5:00", "1e3",
        "5 m", "10x", "1..5", "9999d", "4294967296", "4294967295h"}) {
    EXPECT_EQ(Ms(text), -1) << text;
  }
}

TEST(DurationTextTest, ANumberInSlurmsFormIsMinutes) {
  EXPECT_EQ(SlurmMs("10"), 600000);
  EXPECT_EQ(SlurmMs("10:30"), 630000);
  EXPECT_EQ(SlurmMs("1:00:00"), 3600000);
  EXPECT_EQ(SlurmMs("1-12"), 129600000);
  EXPECT_EQ(SlurmMs("1-0:30"), 88200000);
  EXPECT_EQ(SlurmMs("1-0:00:05"), 86405000);
  for (const char* text : {"", "-", "1-", "10m", "1:2:3:4", "-5", "500-0"}) {
    EXPECT_EQ(SlurmMs(text), -1) << text;
  }
}

}  // namespace
}  // namespace canopy
