// Runs a share of the seeds that `soak --members` runs by the thousand.
#include "tests/sim/member_soak.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/sim/seeds_testing.h"

namespace canopy::sim {
namespace {

constexpr uint64_t kSeeds = 4;

MemberSoakResult RunSeed(uint64_t seed) { return RunMemberSoak(seed, {}); }

TEST(MemberSoak, FencesGoOnWhileAHundredMembersComeAndGo) {
  MemberSoakResult all;
  ExpectNoErrors(kSeeds, RunSeed, [&all](const MemberSoakResult& result) {
    EXPECT_EQ(result.faults.size(), 100u);
    all.fences += result.fences;
    all.guests += result.guests;
  });
  EXPECT_GT(all.fences, 20 * kSeeds);
  EXPECT_GT(all.guests, kSeeds);
}

TEST(MemberSoak, ASeedAlwaysGivesTheSameRun) { ExpectItsOwnScript(1, RunSeed); }

TEST(MemberSoak, AFenceThatFailsIsFound) {
  MemberSoakOptions options;
  options.sabotage = true;
  ExpectFound(
      4, [&options](uint64_t seed) { return RunMemberSoak(seed, options); },
      "has failed with");
}

TEST(MemberTable, TheTableCountsCellsAndExplainsImpossibleOnes) {
  SeedCells seed;
  seed.Add(MemberChange::kLeavesIdle, 1);
  SeedTable table = MemberTable();
  const size_t possible = table.NumBelow(1);
  table.Add(seed);
  EXPECT_EQ(table.NumBelow(1), possible - 1);
  EXPECT_NE(table.Text(true).find("\n- joins: interior: "), std::string::npos);
}

}  // namespace
}  // namespace canopy::sim
