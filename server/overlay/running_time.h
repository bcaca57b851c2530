// Measures how long this agent has waited for a peer, excluding time in which
// the agent itself did not run.
#ifndef CANOPY_SERVER_OVERLAY_RUNNING_TIME_H_
#define CANOPY_SERVER_OVERLAY_RUNNING_TIME_H_

#include <algorithm>
#include <cstdint>

namespace canopy::overlay {

// The period is divided into steps; the user of this class waits for each with
// a timer. A step that ends much too late shows that the agent was stalled, and
// that the peer may have tried to connect meanwhile, so the period starts over.
// Pure state; times are nanoseconds of one monotonic clock.
class RunningTime {
 public:
  RunningTime(int64_t period, int64_t now) : period_(period), begun_(now) {}

  // Returns the length of the step that begins now.
  int64_t step() const {
    return std::min(std::max(period_ / kSteps, kShortestStep),
                    period_ - passed_);
  }
  // Returns the rest of the period, at least 0.
  int64_t Left(int64_t now) const {
    return std::max<int64_t>(period_ - passed_ - (now - begun_), 0);
  }
  // Called when the step's timer has expired. Returns true if the period is
  // over.
  bool EndStep(int64_t now) {
    const int64_t late = now - begun_ - step();
    passed_ = late > std::max(period_ / kTolerated, kAlwaysTolerated)
                  ? 0
                  : passed_ + step();
    begun_ = now;
    return passed_ >= period_;
  }

 private:
  static constexpr int64_t kSteps = 8;
  static constexpr int64_t kShortestStep = 1000000;
  // A step may be late by the period divided by this number.
  static constexpr int64_t kTolerated = 4;
  // A delay of a timer, in nanoseconds, that a busy machine may cause.
  static constexpr int64_t kAlwaysTolerated = 50000000;

  const int64_t period_;
  int64_t begun_;  // when the current step began
  int64_t passed_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_RUNNING_TIME_H_
