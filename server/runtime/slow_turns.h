// Counts the work of the loop that takes long. Here, a turn is the step of one
// input, one drain, or the handling of one message of a connection. It is not
// the turn of a connection (server/endpoint/rotation.h).
#ifndef CANOPY_SERVER_RUNTIME_SLOW_TURNS_H_
#define CANOPY_SERVER_RUNTIME_SLOW_TURNS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace canopy {

// The least duration of a slow turn. A slow turn delays all processes of the
// node. If it lasts so long that a link is lost, jobs end. No input is expected
// to take this long.
inline constexpr int64_t kSlowTurnMs = 50;

// Times are in milliseconds. Used by one thread.
class SlowTurns {
 public:
  // Counts a turn that lasted from `began` until `ended` if it was slow.
  // Returns a line for the log for a slow turn, but at most one line in ten
  // seconds, and otherwise no value. `cause` is called only if there is a line.
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
