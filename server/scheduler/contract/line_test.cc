#include "server/scheduler/contract/line.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::scheduler {
namespace {

TEST(LineTest, LineOfEscapesControlCharacters) {
  EXPECT_EQ(LineOf("two\nlines"), "two\\nlines");
  EXPECT_EQ(LineOf(""), "");
  EXPECT_EQ(LineOf(std::string(kMaxLine, 'x')), std::string(kMaxLine, 'x'));
}

TEST(LineTest, ALongLineIsCutBetweenCharacters) {
  EXPECT_EQ(LineOf(std::string(kMaxLine + 1, 'x')),
            std::string(kMaxLine, 'x') + "...");
  EXPECT_EQ(LineOf(std::string(kMaxLine - 1, 'x') + "\xc3\xa4" + "x"),
            std::string(kMaxLine - 1, 'x') + "...");
  const std::string no_text = LineOf(std::string(4u << 20, '\x80'));
  EXPECT_LE(no_text.size(), 4 * kMaxLine + 3);
}

}  // namespace
}  // namespace canopy::scheduler
