// Runs a share of the seeds that `soak --matrix` runs by the thousand, and
// checks that they detect deliberate faults of a tool.
#include "tests/sim/tool_soak.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/sim/seeds_testing.h"

namespace canopy::sim {
namespace {

constexpr uint64_t kSeeds = 300;

ToolSoakResult RunSeed(uint64_t seed) { return RunToolSoak(seed, {}); }

TEST(ToolSoak, TheFirstSeedsHaveNoErrors) {
  ToolSoakResult all;
  ExpectNoErrors(kSeeds, RunSeed, [&all](const ToolSoakResult& result) {
    all.read += result.read;
    all.dropped += result.dropped;
    all.pushes += result.pushes;
    all.releases += result.releases;
  });
  EXPECT_GT(all.read, 1000 * kSeeds);
  EXPECT_GT(all.dropped, 100 * kSeeds);
  EXPECT_GT(all.pushes, kSeeds);
  EXPECT_GT(all.releases, kSeeds / 4);
}

TEST(ToolSoak, SeedsThatOnceFailedHaveNoErrors) {
  // In these seeds, reads are repeated when all output is read, the input of
  // pushes is lost with an agent after the job's controller was lost, and a job
  // ends before its pullers have found the controller's successor.
  for (const uint64_t seed : {5736u, 12637u, 16900u, 17710u, 17927u, 6858u,
                              9518u, 17936u, 30102u, 34956u, 41404u}) {
    const ToolSoakResult result = RunSeed(seed);
    for (const std::string& error : result.errors) {
      ADD_FAILURE() << "seed " << seed << ": " << error;
    }
  }
}

TEST(ToolSoak, ASeedAlwaysGivesTheSameRun) { ExpectItsOwnScript(6, RunSeed); }

struct Case {
  ToolSabotage sabotage;
  const char* error;  // the error that is reported
};

class ToolSabotages : public testing::TestWithParam<Case> {};

TEST_P(ToolSabotages, ASabotageOfTheToolsIsFound) {
  constexpr uint64_t kFew = 60;
  ToolSoakOptions options;
  options.sabotage = GetParam().sabotage;
  ExpectFound(
      kFew, [&options](uint64_t seed) { return RunToolSoak(seed, options); },
      GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, ToolSabotages,
    testing::Values(Case{ToolSabotage::kLosesOutput, " bytes and missed "},
                    Case{ToolSabotage::kRepeatsOutput, "does not follow"},
                    Case{ToolSabotage::kForgetsDropped, " bytes and missed "},
                    Case{ToolSabotage::kLosesInput, "nobody has pushed"}));

TEST(ToolTable, TheTableCountsCellsAndExplainsImpossibleOnes) {
  SeedCells seed;
  seed.Add(ToolPhase::kStopReleases, ToolFault::kJobKilled);
  SeedTable table = ToolTable();
  const size_t possible = table.NumBelow(1);
  table.Add(seed);
  EXPECT_EQ(table.NumBelow(1), possible - 1);
  EXPECT_NE(table.Text(true).find("\n- pull stalls: late: "),
            std::string::npos);
}

TEST(ToolTable, EachCellWithoutAnExplanationCanOccurInSomeSeeds) {
  for (size_t phase = 0; phase < kNumToolPhases; ++phase) {
    for (size_t fault = 0; fault < kNumToolFaults; ++fault) {
      const ToolCell cell{static_cast<ToolPhase>(phase),
                          static_cast<ToolFault>(fault)};
      EXPECT_EQ(WhyNever(cell).empty(),
                CanOccur(cell, true) || CanOccur(cell, false));
    }
  }
}

}  // namespace
}  // namespace canopy::sim
