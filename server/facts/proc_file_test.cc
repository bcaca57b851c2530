#include "server/facts/proc_file.h"

#include <gtest/gtest.h>

namespace canopy::facts {
namespace {

TEST(ProcFileTest, AFileIsReadUpToALimit) {
  EXPECT_EQ(ReadProcFile("/proc/self/nothing", 10), "");
  EXPECT_EQ(ReadProcFile("/proc/self/stat", 3).size(), 3u);
  EXPECT_GT(ReadProcFile("/proc/self/status", 100000).size(), 100u);
}

TEST(ProcFileTest, TextsAreSplitIntoLines) {
  EXPECT_EQ(LinesOf("a b\nc\n"), (std::vector<std::string_view>{"a b", "c"}));
}

TEST(ProcFileTest, NumbersAreFoundAtTheBeginningAndByName) {
  EXPECT_EQ(NumberIn("12x"), 12u);
  EXPECT_EQ(NumberIn("x"), 0u);
  EXPECT_EQ(NumberIn("99999999999999999999999"), 0u);
  constexpr std::string_view kText =
      "Cached: 5 kB\nSwapCached:\t7 kB\nEmpty:\n";
  EXPECT_EQ(NumberOf(kText, "Cached"), 5u);
  EXPECT_EQ(NumberOf(kText, "SwapCached"), 7u);
  EXPECT_EQ(NumberOf(kText, "Swap"), std::nullopt);
  EXPECT_EQ(NumberOf(kText, "Empty"), std::nullopt);
}

}  // namespace
}  // namespace canopy::facts
