#include "tests/sim/seed_table.h"

#include <gtest/gtest.h>

namespace canopy::sim {
namespace {

enum class Row : uint8_t { kOpen, kClosed, kNever };
enum class Column : uint8_t { kWind, kRain };

SeedTable Table() {
  return SeedTable({{"open", "closed", "nowhere"},
                    {"wind", "rain"},
                    [](size_t row, size_t column) -> std::string_view {
                      if (row == 2) return "it is nowhere";
                      return row == 1 && column == 1 ? "it is dry" : "";
                    }});
}

TEST(SeedTableTest, NumBelowCountsCellsWithTooFewSeeds) {
  SeedCells seed;
  seed.Add(Row::kOpen, Column::kRain);
  seed.Add(Row::kOpen, Column::kRain);
  EXPECT_TRUE(seed.Contains(Row::kOpen, Column::kRain));
  EXPECT_FALSE(seed.Contains(Row::kOpen, Column::kWind));
  SeedTable table = Table();
  EXPECT_EQ(table.NumBelow(0), 0u);
  EXPECT_EQ(table.NumBelow(1), 3u) << "the cells that can occur";
  table.Add(seed);
  table.Add(seed);
  EXPECT_EQ(table.NumBelow(2), 2u);
  EXPECT_EQ(table.NumBelow(3), 3u);
}

TEST(SeedTableTest, TheTextExplainsWhyACellIsImpossible) {
  SeedCells seed;
  seed.Add(Row::kOpen, Column::kWind);
  SeedTable table = Table();
  table.Add(seed);
  EXPECT_EQ(table.Text(true),
            "seeds                         wind        rain\n"
            "open                             1           0\n"
            "closed                           0           -\n"
            "- closed: rain: it is dry\n");
  EXPECT_EQ(table.Text(false).find("- closed"), std::string::npos);
}

}  // namespace
}  // namespace canopy::sim
