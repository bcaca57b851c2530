// Counts the turns of the loop that take long.
#ifndef CANOPY_SERVER_RUNTIME_SLOW_TURNS_H_
#define CANOPY_SERVER_RUNTIME_SLOW_TURNS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace canopy {

// A turn that takes long delays all processes of the node, and the loss of a
// link ends jobs. No input is expected to take this long.
inline constexpr int64_t kSlowTurnMs = 50;

// Times are in milliseconds. One thread.
class SlowTurns {
 public:
  // A turn lasted from `began` until `ended`. Returns a line for the log if it
  // was slow, but at most one in ten seconds. `cause` is called for that line
  // alone.
  std::optional<std::string> Note(int64_t began, int64_t ended,
                                  const std::function<std::string()>& cause);
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
  int64_t counted_until_ = 0;  // the end of the last slow turn
  int64_t next_line_ = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_RUNTIME_SLOW_TURNS_H_
