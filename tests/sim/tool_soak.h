// Lives of jobs and of tools that pull their output, push their input and hold
// their processes, while tools stall and die, and agents are restarted or lost;
// then the questions that must have one answer only.
#ifndef CANOPY_TESTS_SIM_TOOL_SOAK_H_
#define CANOPY_TESTS_SIM_TOOL_SOAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/seed_table.h"

namespace canopy::sim {

// What a tool and a job are in the middle of.
enum class ToolPhase : uint8_t {
  kPullBegins,    // the first read is under way
  kPullWaits,     // for output
  kPullReads,     // there is more than it has read
  kPullStalls,    // it does not read
  kPullEnds,      // the end is under way
  kPullRests,     // of a job that is over
  kPushWaits,     // until what it has pushed is read
  kStopGathers,   // not all that are to stop have stopped
  kStopHolds,     // they have, and nobody has released them
  kStopReleases,  // somebody has, and not all have gone on
};
inline constexpr size_t kNumToolPhases = 10;

enum class ToolFault : uint8_t {
  kLate,  // a message of it
  kDoubled,
  kToolAgentRestarted,
  kToolAgentLost,
  kToolAgentCutOff,
  kJobAgentRestarted,  // of the job, but the root
  kJobAgentLost,
  kRootRestarted,  // which controls the job
  kRootLost,
  kToolDies,
  kJobKilled,
};
inline constexpr size_t kNumToolFaults = 11;

struct ToolCell {
  ToolPhase phase;
  ToolFault fault;

  bool operator==(const ToolCell&) const = default;
};

// Why no such fault comes in such a phase; empty: it does.
std::string_view WhyNever(const ToolCell& cell);
// Of phases and faults.
SeedTable ToolTable();
// In the one kind of seeds agents are restarted, in the other they are lost.
bool CanOccur(const ToolCell& cell, bool restarts);

// What a tool does wrong, to see that it is found.
enum class ToolSabotage : uint8_t {
  kNone,
  kLosesOutput,     // that it has read
  kRepeatsOutput,   // has it twice
  kForgetsDropped,  // does not count what was dropped
  kLosesInput,      // takes for read what it has not pushed
};

struct ToolSoakOptions {
  ToolSabotage sabotage = ToolSabotage::kNone;
  bool verbose = false;
  bool trace = false;  // every step to standard error
};

struct ToolSoakResult {
  uint64_t steps = 0;
  uint64_t read = 0;      // bytes, by pullers
  uint64_t dropped = 0;   // bytes, that these were told of
  uint64_t pushes = 0;    // that were taken
  uint64_t releases = 0;  // jobs that debuggers have let go
  uint32_t nodes = 0;
  std::vector<std::string> faults;  // what was done, in order
  std::vector<std::string> errors;  // empty: all is well
  SeedCells cells;
};

// Deterministic. In every other seed agents are restarted, and no other is
// lost.
ToolSoakResult RunToolSoak(uint64_t seed, const ToolSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TOOL_SOAK_H_
