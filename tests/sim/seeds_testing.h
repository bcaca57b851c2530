// Shared checks of the tests that run seeds.
#ifndef CANOPY_TESTS_SIM_SEEDS_TESTING_H_
#define CANOPY_TESTS_SIM_SEEDS_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace canopy::sim {

// Runs the first seeds and expects no errors; `visit` gets each result.
template <typename Run, typename Visit>
void ExpectNoErrors(uint64_t seeds, const Run& run, const Visit& visit) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const auto result = run(seed);
    visit(result);
    for (const std::string& error : result.errors) {
      ADD_FAILURE() << "seed " << seed << ", " << result.nodes
                    << " nodes: " << error;
    }
  }
}

template <typename Run>
void ExpectItsOwnScript(uint64_t seed, const Run& run) {
  const auto first = run(seed);
  const auto second = run(seed);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.faults, second.faults);
}

// Expects that at least one of the first seeds, which contain a deliberate
// fault, reports the error.
template <typename Run>
void ExpectFound(uint64_t seeds, const Run& run, const std::string& error) {
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const auto result = run(seed);
    const bool names_it =
        std::ranges::any_of(result.errors, [&error](const std::string& one) {
          return one.find(error) != std::string::npos;
        });
    found += names_it ? 1 : 0;
  }
  EXPECT_GE(found, 2u) << error;
}

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SEEDS_TESTING_H_
