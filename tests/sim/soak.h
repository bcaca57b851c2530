// Soak test: whole lives of jobs on a cluster that the seed defines, with
// launches, programs that commit, fence and get, and faults of every kind at
// any time. At the end, every rule is checked.
#ifndef CANOPY_TESTS_SIM_SOAK_H_
#define CANOPY_TESTS_SIM_SOAK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/cluster.h"
#include "tests/sim/fault_matrix.h"
#include "tests/sim/seed_table.h"

namespace canopy::sim {

struct SoakOptions {
  // Inclusive range from which the seed chooses.
  uint32_t min_nodes = 2;
  uint32_t max_nodes = 40;
  uint32_t radix = 0;  // 0: the seed chooses
  uint32_t max_jobs = 3;
  uint32_t max_faults = 4;
  // If true, agents are cut off and join again, one by one or a whole side.
  bool rejoins = true;
  // If true, agents are restarted with their jobs, and no other agent is lost.
  bool restarts = false;
  bool verbose = false;
  bool trace = false;  // writes every step to standard error
};

struct SoakResult {
  uint64_t steps = 0;
  uint32_t nodes = 0;
  uint32_t radix = 0;
  std::vector<std::string> faults;  // the faults, in order
  std::vector<std::string> errors;  // empty: no rule was violated
  SeedCells cells;                  // which faults occurred in which operations
};

// Runs one seed. The result depends only on the arguments, so a failing seed
// can be replayed.
SoakResult RunSoak(uint64_t seed, const SoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_H_
