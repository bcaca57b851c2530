// Runs a share of the seeds that `soak --matrix` runs by the thousand, and
// checks that they detect deliberate faults of an agent.
#include "tests/sim/host_soak.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/sim/seeds_testing.h"

namespace canopy::sim {
namespace {

constexpr uint64_t kSeeds = 400;

HostSoakResult RunSeed(uint64_t seed) { return RunHostSoak(seed, {}); }

TEST(HostSoak, TheFirstSeedsHaveNoErrors) {
  uint64_t calls = 0;
  ExpectNoErrors(kSeeds, RunSeed, [&calls](const HostSoakResult& result) {
    calls += result.calls;
  });
  EXPECT_GT(calls, 5 * kSeeds);
}

TEST(HostSoak, ASeedAlwaysGivesTheSameRun) { ExpectItsOwnScript(6, RunSeed); }

struct Case {
  Sabotage sabotage;
  const char* error;  // the error that is reported
};

class HostSabotage : public testing::TestWithParam<Case> {};

TEST_P(HostSabotage, ASabotageOfTheHostIsFound) {
  HostSoakOptions options;
  options.sabotage = GetParam().sabotage;
  ExpectFound(
      kSeeds, [&options](uint64_t seed) { return RunHostSoak(seed, options); },
      GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(All, HostSabotage,
                         testing::Values(Case{Sabotage::kForgetsIdentity,
                                              "asked twice for one call"},
                                         Case{Sabotage::kReusesNumbers,
                                              "not as the host has decided"},
                                         Case{Sabotage::kLosesAnswers,
                                              "waits for ever"}));

TEST(HostTable, TheTableContainsCallsAndSpawns) {
  SeedCells seed;
  seed.Add(HostRow(Manner::kAway, true), HostFault::kJobKilled);
  SeedTable table = HostTable();
  const size_t possible = table.NumBelow(1);
  table.Add(seed);
  EXPECT_EQ(table.NumBelow(1), possible - 1);
  EXPECT_NE(table.Text(true).find("\ncall late "), std::string::npos);
  EXPECT_NE(table.Text(true).find("\nspawn away "), std::string::npos);
  EXPECT_EQ(table.Text(true).find("spawn stale"), std::string::npos);
}

}  // namespace
}  // namespace canopy::sim
