// PMIX_IOF_BUFFERING_TIME: when what is held has waited long enough.
#ifndef CANOPY_CLIENT_SESSION_HOLD_TIMER_H_
#define CANOPY_CLIENT_SESSION_HOLD_TIMER_H_

#include <cstdint>
#include <memory>

#include "client/channel/progress.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {

// Of the progress thread, as are its tasks.
class HoldTimer {
 public:
  // `due` runs once for each time that it was started. The progress outlives
  // the timer. Null: no descriptor is left.
  static std::unique_ptr<HoldTimer> Make(Progress* progress,
                                         Progress::Task due);
  ~HoldTimer();
  HoldTimer(const HoldTimer&) = delete;
  HoldTimer& operator=(const HoldTimer&) = delete;

  // Unless it runs.
  void Start(uint32_t seconds);

 private:
  HoldTimer(Progress* progress, UniqueFd fd);
  void OnReadable();

  Progress* const progress_;
  const UniqueFd fd_;
  // A task that is about to run sees that the timer is gone.
  const std::shared_ptr<HoldTimer*> self_;
  Progress::Task due_;
  Progress::WatchId watch_ = 0;
  bool runs_ = false;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOLD_TIMER_H_
