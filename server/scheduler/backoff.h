// The pauses between the repeats of a call.
#ifndef CANOPY_SERVER_SCHEDULER_BACKOFF_H_
#define CANOPY_SERVER_SCHEDULER_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace canopy::scheduler {

// Each pause is twice the one before, unless the scheduler asks for another.
class Backoff {
 public:
  static constexpr int64_t kFirstNs = 100'000'000;
  static constexpr int64_t kLongest = 300;  // times the first

  explicit Backoff(int64_t first_ns = kFirstNs) : first_ns_(first_ns) {}

  // Returns the next pause. `asked` is the pause that the scheduler asks for.
  int64_t Next(std::optional<int64_t> asked) {
    next_ns_ = std::clamp(next_ns_ * 2, first_ns_, first_ns_ * kLongest);
    return asked ? std::max(*asked, first_ns_) : next_ns_;
  }
  // The call has succeeded.
  void Reset() { next_ns_ = 0; }

 private:
  int64_t first_ns_;
  int64_t next_ns_ = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_BACKOFF_H_
