#include <array>
#include <string_view>

#include "tests/sim/tool_soak.h"

namespace canopy::sim {
namespace {

constexpr std::array<std::string_view, kNumToolPhases> kPhases = {
    "pull begins", "pull waits",   "pull reads", "pull stalls",
    "pull ends",   "pull rests",   "push waits", "stop gathers",
    "stop holds",  "stop releases"};
constexpr std::array<std::string_view, kNumToolFaults> kFaults = {
    "late",        "doubled",     "tool again", "tool lost",
    "tool cut",    "job again",   "job lost",   "root again",
    "root lost",   "tool dies",   "job killed", "joins",
    "idle leaves", "tool leaves", "job leaves", "root leaves"};

bool NeedsRestarts(ToolFault fault) {
  return fault == ToolFault::kToolAgentRestarted ||
         fault == ToolFault::kJobAgentRestarted ||
         fault == ToolFault::kRootRestarted;
}

bool NeedsLosses(ToolFault fault) {
  return fault == ToolFault::kToolAgentLost ||
         fault == ToolFault::kToolAgentCutOff ||
         fault == ToolFault::kJobAgentLost || fault == ToolFault::kRootLost ||
         fault == ToolFault::kToolAgentLeaves ||
         fault == ToolFault::kJobAgentLeaves || fault == ToolFault::kRootLeaves;
}

}  // namespace

std::string_view WhyNever(const ToolCell& cell) {
  if (cell.fault == ToolFault::kLate || cell.fault == ToolFault::kDoubled) {
    const bool rests = cell.phase == ToolPhase::kPullStalls ||
                       cell.phase == ToolPhase::kStopHolds;
    return rests ? "no message is on its way" : "";
  }
  const bool killed = cell.phase == ToolPhase::kPullRests &&
                      cell.fault == ToolFault::kJobKilled;
  return killed ? "the job is over" : "";
}

SeedTable ToolTable() {
  return SeedTable({{kPhases.begin(), kPhases.end()},
                    {kFaults.begin(), kFaults.end()},
                    [](size_t phase, size_t fault) {
                      return WhyNever({static_cast<ToolPhase>(phase),
                                       static_cast<ToolFault>(fault)});
                    }});
}

bool CanOccur(const ToolCell& cell, bool restarts) {
  return WhyNever(cell).empty() &&
         !(restarts ? NeedsLosses(cell.fault) : NeedsRestarts(cell.fault));
}

}  // namespace canopy::sim
