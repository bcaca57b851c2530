#include "server/runtime/slow_turns.h"

namespace canopy {

// The same time may be reported several times: as the step of an input, as the
// drain that contains the step, and as the handling of the message that caused
// the drain. Only the first report of a slow period is counted. A later report
// that began before the end of that period (counted_until_) is ignored.
std::optional<std::string> SlowTurns::Note(
    int64_t began, int64_t ended, const std::function<std::string()>& cause) {
  constexpr int64_t kBetweenLines = 10'000;
  if (ended - began < kSlowTurnMs || began < counted_until_) {
    return std::nullopt;
  }
  counted_until_ = ended;
  ++count_;
  if (ended < next_line_) return std::nullopt;
  next_line_ = ended + kBetweenLines;
  return "a turn of the loop took " + std::to_string(ended - began) +
         " ms: " + cause() + " (" + std::to_string(count_) +
         " such turns so far)";
}

}  // namespace canopy
