// Soak test of jobs with many calls to the host. The seed decides whether the
// host is late, wrong, silent or away, while agents are restarted or lost. At
// the end, every rule is checked.
#ifndef CANOPY_TESTS_SIM_HOST_SOAK_H_
#define CANOPY_TESTS_SIM_HOST_SOAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/host_stand_in.h"
#include "tests/sim/seed_table.h"

namespace canopy::sim {

// The fault that happens while a call waits.
enum class HostFault : uint8_t {
  kNothing,
  kAgentRestarted,  // the caller's agent
  kAgentLost,
  kAgentCutOff,
  kRootRestarted,
  kRootLost,
  kProcDies,   // the caller
  kJobKilled,  // the caller's job
};
inline constexpr size_t kNumHostFaults = 8;

// The rows of the table: one for each manner of the host with calls, then one
// for each manner with spawns. Spawns use only some of the manners.
inline constexpr size_t kNumHostRows = 2 * kNumManners;
inline size_t HostRow(Manner manner, bool of_spawn) {
  return static_cast<size_t>(manner) + (of_spawn ? kNumManners : 0);
}
// Returns the table of these rows and of faults.
SeedTable HostTable();

struct HostSoakOptions {
  Sabotage sabotage = Sabotage::kNone;
  bool verbose = false;
  bool trace = false;  // writes every step to standard error
};

struct HostSoakResult {
  uint64_t steps = 0;
  uint64_t calls = 0;  // calls that were answered
  uint32_t nodes = 0;
  std::vector<std::string> faults;  // the faults, in order
  std::vector<std::string> errors;  // empty: no rule was violated
  SeedCells cells;
};

// Runs one seed; the result depends only on the arguments. In every other seed,
// agents are restarted and no other agent is lost.
HostSoakResult RunHostSoak(uint64_t seed, const HostSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_HOST_SOAK_H_
