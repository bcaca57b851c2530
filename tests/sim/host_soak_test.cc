// A share of the seeds that `soak --matrix` runs by the thousand, and faults of
// an agent's own that they find.
#include "tests/sim/host_soak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace canopy::sim {
namespace {

constexpr uint64_t kSeeds = 400;

TEST(HostSoak, Seeds) {
  uint64_t calls = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const HostSoakResult result = RunHostSoak(seed, {});
    calls += result.calls;
    for (const std::string& error : result.errors) {
      ADD_FAILURE() << "seed " << seed << ", " << result.nodes
                    << " nodes: " << error;
    }
  }
  EXPECT_GT(calls, 5 * kSeeds);
}

TEST(HostSoak, ASeedIsItsOwnScript) {
  const HostSoakResult first = RunHostSoak(6, {});
  const HostSoakResult second = RunHostSoak(6, {});
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.faults, second.faults);
}

struct Case {
  Sabotage sabotage;
  const char* error;  // what is said of it
};

class HostSabotage : public testing::TestWithParam<Case> {};

TEST_P(HostSabotage, IsFound) {
  HostSoakOptions options;
  options.sabotage = GetParam().sabotage;
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const HostSoakResult result = RunHostSoak(seed, options);
    const bool names_it =
        std::ranges::any_of(result.errors, [](const std::string& error) {
          return error.find(GetParam().error) != std::string::npos;
        });
    found += names_it ? 1 : 0;
  }
  EXPECT_GE(found, 2u);
}

INSTANTIATE_TEST_SUITE_P(All, HostSabotage,
                         testing::Values(Case{Sabotage::kForgetsIdentity,
                                              "asked twice for one call"},
                                         Case{Sabotage::kReusesNumbers,
                                              "not as the host has decided"},
                                         Case{Sabotage::kLosesAnswers,
                                              "waits for ever"}));

TEST(HostMatrix, CountsSeedsAndNotHits) {
  HostCells seed;
  seed.Add(Manner::kLate, false, HostFault::kRootLost);
  seed.Add(Manner::kLate, false, HostFault::kRootLost);
  HostMatrix matrix;
  const size_t possible = matrix.NumBelow(1);
  EXPECT_EQ(matrix.NumBelow(0), 0u);
  matrix.Add(seed);
  matrix.Add(seed);
  EXPECT_EQ(matrix.NumBelow(2), possible - 1);
  EXPECT_EQ(matrix.NumBelow(3), possible);
  EXPECT_NE(matrix.Text().find("call late"), std::string::npos);
  EXPECT_EQ(matrix.Text().find("spawn stale"), std::string::npos);
}

}  // namespace
}  // namespace canopy::sim
