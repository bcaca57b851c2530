#include "server/runtime/slow_turns.h"

namespace canopy {

// The turn of a message contains the step of the message's input. If that step
// was counted as slow, the turn is not counted: it began before the end of the
// last slow turn.
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
