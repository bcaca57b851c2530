// Lives of jobs that ask much of the host, which is late, wrong, silent or away
// as a seed says, while agents are restarted or lost; then the questions that
// must have one answer only.
#ifndef CANOPY_TESTS_SIM_HOST_SOAK_H_
#define CANOPY_TESTS_SIM_HOST_SOAK_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/host_stand_in.h"

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

// Which of them one seed has had together.
class HostCells {
 public:
  void Add(Manner manner, bool of_spawn, HostFault fault) {
    const size_t row =
        static_cast<size_t>(manner) + (of_spawn ? kNumManners : 0);
    cells_.set(row * kNumHostFaults + static_cast<size_t>(fault));
  }
  bool Contains(size_t row, size_t fault) const {
    return cells_.test(row * kNumHostFaults + fault);
  }

 private:
  std::bitset<kNumHostRows * kNumHostFaults> cells_;
};

class HostMatrix {
 public:
  void Add(const HostCells& seed);
  std::string Text() const;
  // Cells that can occur and that fewer seeds have had.
  size_t NumBelow(uint64_t seeds) const;

 private:
  std::array<std::array<uint64_t, kNumHostFaults>, kNumHostRows> seeds_{};
};

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
  HostCells cells;
};

// Deterministic. In every other seed agents are restarted, and no other is
// lost.
HostSoakResult RunHostSoak(uint64_t seed, const HostSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_HOST_SOAK_H_
