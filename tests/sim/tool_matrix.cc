#include <cstdio>
#include <string_view>

#include "tests/sim/tool_soak.h"

namespace canopy::sim {
namespace {

constexpr std::array<std::string_view, kNumToolPhases> kPhases = {
    "pull begins", "pull waits",   "pull reads", "pull stalls",
    "pull ends",   "pull rests",   "push waits", "stop gathers",
    "stop holds",  "stop releases"};
constexpr std::array<std::string_view, kNumToolFaults> kFaults = {
    "late",      "doubled",   "tool again", "tool lost",
    "tool cut",  "job again", "job lost",   "root again",
    "root lost", "tool dies", "job killed"};

bool NeedsRestarts(ToolFault fault) {
  return fault == ToolFault::kToolAgentRestarted ||
         fault == ToolFault::kJobAgentRestarted ||
         fault == ToolFault::kRootRestarted;
}

bool NeedsLosses(ToolFault fault) {
  return fault == ToolFault::kToolAgentLost ||
         fault == ToolFault::kToolAgentCutOff ||
         fault == ToolFault::kJobAgentLost || fault == ToolFault::kRootLost;
}

ToolCell CellAt(size_t phase, size_t fault) {
  return {static_cast<ToolPhase>(phase), static_cast<ToolFault>(fault)};
}

std::string Column(const char* format, std::string_view value) {
  constexpr size_t kSize = 32;
  char text[kSize];
  snprintf(text, sizeof(text), format, std::string(value).c_str());
  return text;
}

}  // namespace

// Where nothing is under way, no message is late; and what is over is not
// killed.
bool CanOccur(const ToolCell& cell) {
  if (cell.fault == ToolFault::kLate || cell.fault == ToolFault::kDoubled) {
    return cell.phase != ToolPhase::kPullStalls &&
           cell.phase != ToolPhase::kStopHolds;
  }
  return cell.phase != ToolPhase::kPullRests ||
         cell.fault != ToolFault::kJobKilled;
}

bool CanOccur(const ToolCell& cell, bool restarts) {
  return CanOccur(cell) &&
         !(restarts ? NeedsLosses(cell.fault) : NeedsRestarts(cell.fault));
}

void ToolMatrix::Add(const ToolCells& seed) {
  for (size_t phase = 0; phase < kNumToolPhases; ++phase) {
    for (size_t fault = 0; fault < kNumToolFaults; ++fault) {
      seeds_[phase][fault] += seed.Contains(CellAt(phase, fault)) ? 1 : 0;
    }
  }
}

std::string ToolMatrix::Text() const {
  std::string out = Column("%-16s", "seeds");
  for (const std::string_view fault : kFaults) out += Column("%11s", fault);
  for (size_t phase = 0; phase < kNumToolPhases; ++phase) {
    out += "\n" + Column("%-16s", kPhases[phase]);
    for (size_t fault = 0; fault < kNumToolFaults; ++fault) {
      out += Column("%11s", CanOccur(CellAt(phase, fault))
                                ? std::to_string(seeds_[phase][fault])
                                : "-");
    }
  }
  return out + "\n";
}

size_t ToolMatrix::NumBelow(uint64_t seeds) const {
  size_t count = 0;
  for (size_t phase = 0; phase < kNumToolPhases; ++phase) {
    for (size_t fault = 0; fault < kNumToolFaults; ++fault) {
      const bool below = seeds_[phase][fault] < seeds;
      count += below && CanOccur(CellAt(phase, fault)) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace canopy::sim
