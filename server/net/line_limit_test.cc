#include "server/net/line_limit.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::net {
namespace {

constexpr int64_t kSecond = 1000 * 1000 * 1000;

class LineLimitTest : public ::testing::Test {
 protected:
  int64_t LinesAbout(const std::string& source, int64_t attempts, int64_t now) {
    int64_t lines = 0;
    for (int64_t i = 0; i < attempts; ++i) {
      lines += limit_.Admit(source, "x", now).has_value();
    }
    return lines;
  }

  LineLimit limit_;
};

TEST_F(LineLimitTest, ASourceGetsABurstAndThenOneLineEachSecond) {
  EXPECT_EQ(LinesAbout("a", 1000, 0), LineLimit::kBurst);
  EXPECT_EQ(LinesAbout("a", 1000, kSecond - 1), 0);
  EXPECT_EQ(LinesAbout("a", 1000, kSecond), 1);
  EXPECT_EQ(LinesAbout("a", 1000, 3 * kSecond), 2);
  EXPECT_EQ(LinesAbout("b", 1000, 3 * kSecond), LineLimit::kBurst);
  EXPECT_EQ(LinesAbout("a", 1000, 1000 * kSecond), LineLimit::kBurst);
}

TEST_F(LineLimitTest, ALineReportsTheNumberOfSuppressedLines) {
  LinesAbout("a", LineLimit::kBurst + 3, 0);
  EXPECT_EQ(limit_.Admit("a", "closed", kSecond),
            "closed (lines left out before it: 3)");
  EXPECT_EQ(limit_.Admit("a", "closed", 2 * kSecond), "closed");
}

TEST_F(LineLimitTest, SourcesBeyondTheLimitShareOneAllowance) {
  int64_t lines = 0;
  for (int i = 0; i < 1000; ++i) {
    lines += LinesAbout(std::to_string(i), 2 * LineLimit::kBurst, 0);
  }
  EXPECT_LE(lines, (int64_t{LineLimit::kMaxSources} + 1) * LineLimit::kBurst);
  // Sources with a full allowance were forgotten, which has made room.
  EXPECT_EQ(LinesAbout("new", 1, 1000 * kSecond), 1);
}

}  // namespace
}  // namespace canopy::net
