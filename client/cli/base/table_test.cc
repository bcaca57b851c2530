#include "client/cli/base/table.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

TEST(TableTest, ColumnsAlignByCharacters) {
  Table table({"A", "B"});
  table.Add({"\u2514\u2500 x", "1"});
  table.Add({"longer", ""});
  EXPECT_EQ(table.ToString("  "),
            "  A       B\n  \u2514\u2500 x    1\n  longer\n");
}

TEST(TableTest, FormatsCountsAndAges) {
  EXPECT_EQ(Count(1, "process"), "1 process");
  EXPECT_EQ(Count(2, "process"), "2 processes");
  EXPECT_EQ(Count(0, "node"), "0 nodes");
  EXPECT_EQ(AgeText(119), "119 s");
  EXPECT_EQ(AgeText(120), "2 min");
  EXPECT_EQ(AgeText(7200), "2 h");
  EXPECT_EQ(AgeText(200000), "2 d");
}

}  // namespace
}  // namespace canopy::cli
