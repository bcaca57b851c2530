#include "tests/sim/fault_matrix.h"

#include <cstdio>

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
    "late",        "doubled",    "link lost",  "asked again", "lie",
    "agent again", "agent lost", "root again", "root lost",   "proc dies"};

template <typename F>
void ForEachCell(const F& f) {
  for (size_t phase = 0; phase < kNumPhases; ++phase) {
    for (size_t fault = 0; fault < kNumFaults; ++fault) {
      f(Cell{static_cast<Phase>(phase), static_cast<Fault>(fault)});
    }
  }
}

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
         fault == Fault::kRootLost;
}

void FaultMatrix::Add(const CellSet& seed) {
  ForEachCell([&](const Cell& cell) {
    uint64_t& seeds = seeds_[static_cast<size_t>(cell.phase)]
                            [static_cast<size_t>(cell.fault)];
    seeds += seed.Contains(cell) ? 1 : 0;
  });
}

std::string FaultMatrix::Text(bool reasons) const {
  constexpr size_t kSize = 32;
  char text[kSize];
  const auto column = [&](const char* format, auto value) {
    snprintf(text, sizeof(text), format, value);
    return std::string(text);
  };
  std::string out = column("%-22s", "seeds");
  for (const std::string_view fault : kFaults) {
    out += column("%12s", fault.data());
  }
  for (size_t phase = 0; phase < kNumPhases; ++phase) {
    out += "\n" + column("%-22s", kPhases[phase].data());
    for (size_t fault = 0; fault < kNumFaults; ++fault) {
      const Cell cell{static_cast<Phase>(phase), static_cast<Fault>(fault)};
      const bool never = At(cell) == 0 && !WhyNever(cell).empty();
      out += never
                 ? column("%12s", "-")
                 : column("%12llu", static_cast<unsigned long long>(At(cell)));
    }
  }
  ForEachCell([&](const Cell& cell) {
    const std::string_view why = WhyNever(cell);
    if (reasons && !why.empty())
      out += "\n- " + ToString(cell) + ": " + std::string(why);
  });
  return out + "\n";
}

size_t FaultMatrix::NumBelow(uint64_t seeds) const {
  size_t count = 0;
  ForEachCell([&](const Cell& cell) {
    if (WhyNever(cell).empty() && At(cell) < seeds) ++count;
  });
  return count;
}

}  // namespace canopy::sim
