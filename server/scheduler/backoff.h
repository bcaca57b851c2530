// The pauses between the repetitions of a call.
#ifndef CANOPY_SERVER_SCHEDULER_BACKOFF_H_
#define CANOPY_SERVER_SCHEDULER_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace canopy::scheduler {

// Each pause is twice the previous one, unless the scheduler requests another.
// Pauses are in nanoseconds.
class Backoff {
 public:
  static constexpr int64_t kFirstNs = 100'000'000;
  static constexpr int64_t kLongest = 300;  // as a multiple of the first pause

  explicit Backoff(int64_t first_ns = kFirstNs) : first_ns_(first_ns) {}

  // Returns the next pause. `asked` is the pause that the scheduler has
  // requested.
  int64_t Next(std::optional<int64_t> asked) {
    next_ns_ = std::clamp(next_ns_ * 2, first_ns_, first_ns_ * kLongest);
    return asked ? std::max(*asked, first_ns_) : next_ns_;
  }
  // Called when the call has succeeded.
  void Reset() { next_ns_ = 0; }

 private:
  int64_t first_ns_;
  int64_t next_ns_ = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_BACKOFF_H_
