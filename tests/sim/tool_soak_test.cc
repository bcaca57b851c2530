// A share of the seeds that `soak --matrix` runs by the thousand, and faults of
// a tool's own that they find.
#include "tests/sim/tool_soak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace canopy::sim {
namespace {

constexpr uint64_t kSeeds = 300;

TEST(ToolSoak, Seeds) {
  ToolSoakResult all;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ToolSoakResult result = RunToolSoak(seed, {});
    all.read += result.read;
    all.dropped += result.dropped;
    all.pushes += result.pushes;
    all.releases += result.releases;
    for (const std::string& error : result.errors) {
      ADD_FAILURE() << "seed " << seed << ", " << result.nodes
                    << " nodes: " << error;
    }
  }
  EXPECT_GT(all.read, 1000 * kSeeds);
  EXPECT_GT(all.dropped, 100 * kSeeds);
  EXPECT_GT(all.pushes, kSeeds);
  EXPECT_GT(all.releases, kSeeds / 4);
}

TEST(ToolSoak, ASeedIsItsOwnScript) {
  const ToolSoakResult first = RunToolSoak(6, {});
  const ToolSoakResult second = RunToolSoak(6, {});
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.faults, second.faults);
}

struct Case {
  ToolSabotage sabotage;
  const char* error;  // what is said of it
};

class ToolSabotages : public testing::TestWithParam<Case> {};

TEST_P(ToolSabotages, IsFound) {
  constexpr uint64_t kFew = 60;
  ToolSoakOptions options;
  options.sabotage = GetParam().sabotage;
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < kFew; ++seed) {
    const ToolSoakResult result = RunToolSoak(seed, options);
    const bool names_it =
        std::ranges::any_of(result.errors, [](const std::string& error) {
          return error.find(GetParam().error) != std::string::npos;
        });
    found += names_it ? 1 : 0;
  }
  EXPECT_GE(found, 2u);
}

INSTANTIATE_TEST_SUITE_P(
    All, ToolSabotages,
    testing::Values(Case{ToolSabotage::kLosesOutput, " bytes and missed "},
                    Case{ToolSabotage::kRepeatsOutput, "does not follow"},
                    Case{ToolSabotage::kForgetsDropped, " bytes and missed "},
                    Case{ToolSabotage::kLosesInput, "nobody has pushed"}));

TEST(ToolMatrix, CountsSeedsAndNotHits) {
  ToolCells seed;
  seed.Add({ToolPhase::kPullWaits, ToolFault::kRootLost});
  seed.Add({ToolPhase::kPullWaits, ToolFault::kRootLost});
  ToolMatrix matrix;
  const size_t possible = matrix.NumBelow(1);
  EXPECT_EQ(matrix.NumBelow(0), 0u);
  matrix.Add(seed);
  matrix.Add(seed);
  EXPECT_EQ(matrix.NumBelow(2), possible - 1);
  EXPECT_EQ(matrix.NumBelow(3), possible);
  EXPECT_NE(matrix.Text().find("pull stalls"), std::string::npos);
}

TEST(ToolMatrix, EachCellHasAKindOfSeeds) {
  for (size_t phase = 0; phase < kNumToolPhases; ++phase) {
    for (size_t fault = 0; fault < kNumToolFaults; ++fault) {
      const ToolCell cell{static_cast<ToolPhase>(phase),
                          static_cast<ToolFault>(fault)};
      EXPECT_EQ(CanOccur(cell), CanOccur(cell, true) || CanOccur(cell, false));
    }
  }
}

}  // namespace
}  // namespace canopy::sim
