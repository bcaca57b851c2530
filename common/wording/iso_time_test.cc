#include "common/wording/iso_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace canopy {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

void UseZone(const char* zone) {
  setenv("TZ", zone, 1);
  tzset();
}

TEST(IsoTimeTest, HasMillisecondsAndTheZone) {
  const system_clock::time_point time{milliseconds(1'000'000'000'007)};
  UseZone("UTC");
  EXPECT_EQ(IsoTime(time), "2001-09-09T01:46:40.007+00:00");
  UseZone("XXX-5:30");
  EXPECT_EQ(IsoTime(time), "2001-09-09T07:16:40.007+05:30");
  UseZone("XXX+3");
  EXPECT_EQ(IsoTime(time), "2001-09-08T22:46:40.007-03:00");
}

}  // namespace
}  // namespace canopy
