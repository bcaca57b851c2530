#include "tests/sim/fault_matrix.h"

#include <array>

namespace canopy::sim {
namespace {

constexpr std::array<std::string_view, kNumPhases> kPhases = {
    "spawn requested",      "spawn executing",
    "spawn answering",      "connect resolving",
    "connect gathering",    "connect reporting",
    "connect releasing",    "connected",
    "disconnect gathering", "disconnect reporting",
    "disconnect releasing", "publish offering",
    "publish pulling",      "published",
    "lookup asking",        "lookup pulling",
    "lookup waiting",       "lookup claiming",
    "lookup ending",        "unpublish removing",
    "abort requested",      "abort ending",
    "abort answering",      "group resolving",
    "group gathering",      "group reporting",
    "group releasing",      "grouped",
    "group leaving",        "ungroup gathering",
    "ungroup reporting",    "ungroup releasing",
    "event spreading",      "event kept",
    "control asking",       "control acting",
    "control answering",    "query asking",
    "query gathering"};
constexpr std::array<std::string_view, kNumFaults> kFaults = {
    "late",        "doubled",    "link lost",   "asked again", "lie",
    "agent again", "agent lost", "root again",  "root lost",   "proc dies",
    "joins",       "leaves",     "path leaves", "root leaves"};

}  // namespace

std::string ToString(const Cell& cell) {
  return std::string(kPhases[static_cast<size_t>(cell.phase)]) + ": " +
         std::string(kFaults[static_cast<size_t>(cell.fault)]);
}

std::string_view WhyNever(const Cell& cell) {
  const bool is_of_message =
      cell.fault == Fault::kLate || cell.fault == Fault::kDoubled;
  switch (cell.phase) {
    case Phase::kConnected:
    case Phase::kGrouped:
    case Phase::kEventKept:
      if (is_of_message) return "no message is on its way";
      if (cell.fault == Fault::kAskedAgain)
        return "everybody has been answered";
      return {};
    default:
      return {};
  }
}

bool NeedsRestarts(Fault fault) {
  return fault == Fault::kAskedAgain || fault == Fault::kAgentRestarted ||
         fault == Fault::kRootRestarted;
}

bool NeedsLosses(Fault fault) {
  return fault == Fault::kLinkLost || fault == Fault::kAgentLost ||
         fault == Fault::kRootLost || fault == Fault::kMemberLeaves ||
         fault == Fault::kRootLeaves;
}

SeedTable FaultTable() {
  return SeedTable({{kPhases.begin(), kPhases.end()},
                    {kFaults.begin(), kFaults.end()},
                    [](size_t phase, size_t fault) {
                      return WhyNever({static_cast<Phase>(phase),
                                       static_cast<Fault>(fault)});
                    }});
}

}  // namespace canopy::sim
