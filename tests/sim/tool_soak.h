// Soak test of jobs and of tools that pull their output, push their input and
// hold their processes, while tools stall and die and agents are restarted or
// lost. At the end, every rule is checked.
#ifndef CANOPY_TESTS_SIM_TOOL_SOAK_H_
#define CANOPY_TESTS_SIM_TOOL_SOAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/seed_table.h"

namespace canopy::sim {

// The phase of a tool's operation on a job.
enum class ToolPhase : uint8_t {
  kPullBegins,    // the first read is in progress
  kPullWaits,     // the tool waits for output
  kPullReads,     // there is more output than it has read
  kPullStalls,    // it does not read
  kPullEnds,      // the pull is being ended
  kPullRests,     // the job is over
  kPushWaits,     // the tool waits until its pushes are read
  kStopGathers,   // some processes have yet to stop
  kStopHolds,     // all have stopped, and no debugger has released them
  kStopReleases,  // the processes were released, and some have yet to continue
};
inline constexpr size_t kNumToolPhases = 10;

enum class ToolFault : uint8_t {
  kLate,  // a message of the operation is late
  kDoubled,
  kToolAgentRestarted,
  kToolAgentLost,
  kToolAgentCutOff,
  kJobAgentRestarted,  // an agent of the job other than the root
  kJobAgentLost,
  kRootRestarted,  // the root controls the job
  kRootLost,
  kToolDies,
  kJobKilled,
  kMemberJoins,  // concerns all operations
  kIdleLeaves,   // a member without jobs is removed; concerns all operations
  kToolAgentLeaves,
  kJobAgentLeaves,
  kRootLeaves,
};
inline constexpr size_t kNumToolFaults = 16;
// The faults before those of members, whose aims have a random source of their
// own.
inline constexpr size_t kNumOwnToolFaults = 11;

struct ToolCell {
  ToolPhase phase;
  ToolFault fault;

  bool operator==(const ToolCell&) const = default;
};

// Returns why the fault cannot occur in the phase; empty if it can.
std::string_view WhyNever(const ToolCell& cell);
// Returns the table of phases and faults.
SeedTable ToolTable();
// Returns whether the cell can occur. Agents are restarted in some seeds and
// lost in the others.
bool CanOccur(const ToolCell& cell, bool restarts);

// A deliberate fault of a tool, to test that it is detected.
enum class ToolSabotage : uint8_t {
  kNone,
  kLosesOutput,     // loses output that it has read
  kRepeatsOutput,   // has output twice
  kForgetsDropped,  // does not count dropped output
  kLosesInput,      // expects input that it has not pushed
};

struct ToolSoakOptions {
  ToolSabotage sabotage = ToolSabotage::kNone;
  bool verbose = false;
  bool trace = false;  // writes every step to standard error
};

struct ToolSoakResult {
  uint64_t steps = 0;
  uint64_t read = 0;      // bytes, by pullers
  uint64_t dropped = 0;   // bytes reported to pullers as dropped
  uint64_t pushes = 0;    // pushes that were taken
  uint64_t releases = 0;  // jobs released by debuggers
  uint32_t nodes = 0;
  std::vector<std::string> faults;  // the faults, in order
  std::vector<std::string> errors;  // empty: no rule was violated
  SeedCells cells;
};

// Runs one seed; the result depends only on the arguments. In every other seed,
// agents are restarted and no other agent is lost.
ToolSoakResult RunToolSoak(uint64_t seed, const ToolSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TOOL_SOAK_H_
