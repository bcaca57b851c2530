#include "tests/sim/fault_matrix.h"

#include <gtest/gtest.h>

namespace canopy::sim {
namespace {

TEST(FaultMatrix, CountsSeedsAndNotHits) {
  const Cell cell{Phase::kLookupWaiting, Fault::kRootLost};
  CellSet seed;
  seed.Add(cell);
  seed.Add(cell);
  EXPECT_TRUE(seed.Contains(cell));
  EXPECT_FALSE(seed.Contains({Phase::kLookupWaiting, Fault::kLie}));
  FaultMatrix matrix;
  const size_t possible = matrix.NumBelow(1);
  EXPECT_EQ(matrix.NumBelow(0), 0u);
  matrix.Add(seed);
  matrix.Add(seed);
  EXPECT_EQ(matrix.NumBelow(2), possible - 1);
  EXPECT_EQ(matrix.NumBelow(3), possible);
}

TEST(FaultMatrix, TellsWhyACellIsEmpty) {
  const Cell never{Phase::kConnected, Fault::kLate};
  ASSERT_FALSE(WhyNever(never).empty());
  const std::string text = FaultMatrix().Text(true);
  EXPECT_NE(text.find("\n- connected: late: "), std::string::npos);
  EXPECT_NE(text.find("\nabort answering "), std::string::npos);
  EXPECT_EQ(FaultMatrix().Text(false).find("\n- "), std::string::npos);
}

TEST(FaultMatrix, NoFaultNeedsBothKindsOfSeeds) {
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    EXPECT_FALSE(NeedsRestarts(fault) && NeedsLosses(fault)) << i;
  }
}

}  // namespace
}  // namespace canopy::sim
