// PMIX_IOF_BUFFERING_TIME: a timer that limits how long output is held.
#ifndef CANOPY_CLIENT_SESSION_HOLD_TIMER_H_
#define CANOPY_CLIENT_SESSION_HOLD_TIMER_H_

#include <cstdint>
#include <memory>

#include "client/channel/progress.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {

// Used on the progress thread, which runs its tasks.
class HoldTimer {
 public:
  // Makes a timer for which `due` runs once after each start. The progress must
  // outlive the timer. Returns null if no descriptor is left.
  static std::unique_ptr<HoldTimer> Make(Progress* progress,
                                         Progress::Task due);
  ~HoldTimer();
  HoldTimer(const HoldTimer&) = delete;
  HoldTimer& operator=(const HoldTimer&) = delete;

  // Starts the timer, which expires after `seconds`. Does nothing if the timer
  // runs already.
  void Start(uint32_t seconds);

 private:
  HoldTimer(Progress* progress, UniqueFd fd);
  void OnReadable();

  Progress* const progress_;
  const UniqueFd fd_;
  // Lets a queued task find out whether the timer was destroyed.
  const std::shared_ptr<HoldTimer*> self_;
  Progress::Task due_;
  Progress::WatchId watch_ = 0;
  bool runs_ = false;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOLD_TIMER_H_
