// Lives of jobs and of tools that pull their output, push their input and hold
// their processes, while tools stall and die, and agents are restarted or lost;
// then the questions that must have one answer only.
#ifndef CANOPY_TESTS_SIM_TOOL_SOAK_H_
#define CANOPY_TESTS_SIM_TOOL_SOAK_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// False: no such fault comes in such a phase.
bool CanOccur(const ToolCell& cell);
// In the one kind of seeds agents are restarted, in the other they are lost.
bool CanOccur(const ToolCell& cell, bool restarts);

// Which of them one seed has had.
class ToolCells {
 public:
  void Add(const ToolCell& cell) { cells_.set(IndexOf(cell)); }
  bool Contains(const ToolCell& cell) const {
    return cells_.test(IndexOf(cell));
  }

 private:
  static size_t IndexOf(const ToolCell& cell) {
    return static_cast<size_t>(cell.phase) * kNumToolFaults +
           static_cast<size_t>(cell.fault);
  }
  std::bitset<kNumToolPhases * kNumToolFaults> cells_;
};

class ToolMatrix {
 public:
  void Add(const ToolCells& seed);
  std::string Text() const;
  // Cells that can occur and that fewer seeds have had.
  size_t NumBelow(uint64_t seeds) const;

 private:
  std::array<std::array<uint64_t, kNumToolFaults>, kNumToolPhases> seeds_{};
};

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
  ToolCells cells;
};

// Deterministic. In every other seed agents are restarted, and no other is
// lost.
ToolSoakResult RunToolSoak(uint64_t seed, const ToolSoakOptions& options);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TOOL_SOAK_H_
