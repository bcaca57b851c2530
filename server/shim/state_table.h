// A state machine as data: the effect of each event in each state.
#ifndef CANOPY_SERVER_SHIM_STATE_TABLE_H_
#define CANOPY_SERVER_SHIM_STATE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::process {

enum class Verdict : uint8_t {
  kAccept,
  kIgnore,  // the event has no effect any more
  kRefuse,  // the event's source broke the protocol
};

// One cell of a table. Only an accepted event changes the state.
template <typename State>
struct Cell {
  Verdict verdict = Verdict::kRefuse;
  State next{};
};

// The rule for one cell of a row. In most cells, `moves` is false and the event
// keeps the state.
template <typename State>
struct CellRule {
  Verdict verdict = Verdict::kRefuse;
  bool moves = false;
  State next{};

  constexpr Cell<State> In(State state) const {
    return {verdict, moves ? next : state};
  }
};

// Returns a row of the Markdown table that documents the cells of one event:
// "to X", "stays", "ignored" or "refused" for each of the `count` states, which
// are numbered from 0. `name` returns a state's name.
template <typename State, typename Step, typename Name>
std::string DocumentedRow(std::string_view event, size_t count, Step step,
                          Name name) {
  std::string row = "| " + std::string(event) + " |";
  for (size_t i = 0; i < count; ++i) {
    const State state = static_cast<State>(i);
    const Cell<State> cell = step(state);
    if (cell.verdict == Verdict::kRefuse) {
      row += " refused |";
    } else if (cell.verdict == Verdict::kIgnore) {
      row += " ignored |";
    } else if (cell.next == state) {
      row += " stays |";
    } else {
      row += " to " + std::string(name(cell.next)) + " |";
    }
  }
  return row;
}

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_STATE_TABLE_H_
