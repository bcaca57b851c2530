#include "tests/sim/fault_matrix.h"

#include <gtest/gtest.h>

namespace canopy::sim {
namespace {

TEST(FaultMatrix, TheTableCountsCellsAndExplainsImpossibleOnes) {
  SeedCells seed;
  seed.Add(Phase::kQueryGathering, Fault::kProcDies);
  SeedTable table = FaultTable();
  const size_t possible = table.NumBelow(1);
  table.Add(seed);
  EXPECT_EQ(table.NumBelow(1), possible - 1);
  ASSERT_FALSE(WhyNever({Phase::kConnected, Fault::kLate}).empty());
  const std::string text = table.Text(true);
  EXPECT_NE(text.find("\n- connected: late: "), std::string::npos);
  EXPECT_NE(text.find("\nquery gathering "), std::string::npos);
}

TEST(FaultMatrix, NoFaultNeedsBothRestartsAndLosses) {
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    EXPECT_FALSE(NeedsRestarts(fault) && NeedsLosses(fault)) << i;
  }
}

}  // namespace
}  // namespace canopy::sim
