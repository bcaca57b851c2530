#include <array>
#include <string_view>

#include "tests/sim/host_soak.h"

namespace canopy::sim {
namespace {

constexpr std::array<std::string_view, kNumHostRows> kRows = {
    "call prompt",    "call late",       "call twice",  "call refuses",
    "call malformed", "call stray",      "call stale",  "call never",
    "call away",      "spawn prompt",    "spawn late",  "spawn twice",
    "spawn refuses",  "spawn malformed", "spawn stray", "spawn stale",
    "spawn never",    "spawn away"};
constexpr std::array<std::string_view, kNumHostFaults> kFaults = {
    "nothing",    "agent again", "agent lost", "cut off",
    "root again", "root lost",   "proc dies",  "job killed"};

// The port checks answers, and knows the answers that it awaits. Therefore a
// malformed or unrequested answer to a spawn, and one meant for a predecessor,
// never reach the core.
std::string_view WhyNever(size_t row, size_t /*fault*/) {
  const auto manner = static_cast<Manner>(row % kNumManners);
  const bool of_calls = manner == Manner::kMalformed ||
                        manner == Manner::kStray || manner == Manner::kStale;
  return row >= kNumManners && of_calls ? "the port takes no such answer" : "";
}

}  // namespace

SeedTable HostTable() {
  return SeedTable({{kRows.begin(), kRows.end()},
                    {kFaults.begin(), kFaults.end()},
                    WhyNever});
}

}  // namespace canopy::sim
