#include <cstdio>
#include <string_view>

#include "tests/sim/host_soak.h"

namespace canopy::sim {
namespace {

constexpr std::array<std::string_view, kNumManners> kManners = {
    "prompt", "late",  "twice", "refuses", "malformed",
    "stray",  "stale", "never", "away"};
constexpr std::array<std::string_view, kNumHostFaults> kFaults = {
    "nothing",    "agent again", "agent lost", "cut off",
    "root again", "root lost",   "proc dies",  "job killed"};

std::string NameOf(size_t row) {
  const bool of_spawn = row >= kNumManners;
  return std::string(of_spawn ? "spawn " : "call ") +
         std::string(kManners[row % kNumManners]);
}

// The port reads answers, and knows which it waits for: of spawns, none comes
// to the core that is malformed, unasked or for a predecessor.
bool CanOccur(size_t row) {
  const auto manner = static_cast<Manner>(row % kNumManners);
  const bool of_calls = manner == Manner::kMalformed ||
                        manner == Manner::kStray || manner == Manner::kStale;
  return row < kNumManners || !of_calls;
}

std::string Column(const char* format, std::string_view value) {
  constexpr size_t kSize = 32;
  char text[kSize];
  snprintf(text, sizeof(text), format, std::string(value).c_str());
  return text;
}

}  // namespace

void HostMatrix::Add(const HostCells& seed) {
  for (size_t row = 0; row < kNumHostRows; ++row) {
    for (size_t fault = 0; fault < kNumHostFaults; ++fault) {
      seeds_[row][fault] += seed.Contains(row, fault) ? 1 : 0;
    }
  }
}

std::string HostMatrix::Text() const {
  std::string out = Column("%-22s", "seeds");
  for (const std::string_view fault : kFaults) out += Column("%12s", fault);
  for (size_t row = 0; row < kNumHostRows; ++row) {
    if (!CanOccur(row)) continue;
    out += "\n" + Column("%-22s", NameOf(row));
    for (const uint64_t seeds : seeds_[row]) {
      out += Column("%12s", std::to_string(seeds));
    }
  }
  return out + "\n";
}

size_t HostMatrix::NumBelow(uint64_t seeds) const {
  size_t count = 0;
  for (size_t row = 0; row < kNumHostRows; ++row) {
    if (!CanOccur(row)) continue;
    for (const uint64_t had : seeds_[row]) count += had < seeds ? 1 : 0;
  }
  return count;
}

}  // namespace canopy::sim
