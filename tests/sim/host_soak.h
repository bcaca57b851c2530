// Lives of jobs that ask much of the host, which is late, wrong, silent or away
// as a seed says, while agents are restarted or lost; then the questions that
// must have one answer only.
#ifndef CANOPY_TESTS_SIM_HOST_SOAK_H_
#define CANOPY_TESTS_SIM_HOST_SOAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/host_stand_in.h"
#include "tests/sim/seed_table.h"

namespace canopy::sim {

// What happens while a call waits.
enum class HostFault : uint8_t {
  kNothing,
  kAgentRestarted,  // that of who asks
  kAgentLost,
  kAgentCutOff,
  kRootRestarted,
  kRootLost,
  kProcDies,   // that asks
  kJobKilled,  // of who asks
};
inline constexpr size_t kNumHostFaults = 8;

// What of the host: first its manners with calls, then its manners with spawns,
// which are some of them.
inline constexpr size_t kNumHostRows = 2 * kNumManners;
inline size_t HostRow(Manner manner, bool of_spawn) {
  return static_cast<size_t>(manner) + (of_spawn ? kNumManners : 0);
}
// Of these rows and what happens.
SeedTable HostTable();

struct HostSoakOptions {
  Sabotage sabotage = Sabotage::kNone;
  bool verbose = false;
  bool trace = false;  // every step to standard error
};

struct HostSoakResult {
  uint64_t steps = 0;
  uint64_t calls = 0;  // that were answered
  uint32_t nodes = 0;
  std::vector<std::string> faults;  // what was done, in order
  std::vector<std::string> errors;  // empty: all is well
  SeedCells cells;
};

// Deterministic. In every other seed agents are restarted, and no other is
// lost.
HostSoakResult RunHostSoak(uint64_t seed, const HostSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_HOST_SOAK_H_
