#include "client/session/hold_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

namespace canopy::client {

std::unique_ptr<HoldTimer> HoldTimer::Make(Progress* progress,
                                           Progress::Task due) {
  UniqueFd fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd) return nullptr;
  std::unique_ptr<HoldTimer> timer(new HoldTimer(progress, std::move(fd)));
  timer->due_ = std::move(due);
  timer->watch_ = progress->Watch(timer->fd_.get(), [self = timer->self_] {
    if (*self != nullptr) (*self)->OnReadable();
  });
  return timer;
}

HoldTimer::HoldTimer(Progress* progress, UniqueFd fd)
    : progress_(progress),
      fd_(std::move(fd)),
      self_(std::make_shared<HoldTimer*>(this)) {}

HoldTimer::~HoldTimer() {
  *self_ = nullptr;
  progress_->Unwatch(watch_);
}

void HoldTimer::Start(uint32_t seconds) {
  if (std::exchange(runs_, true)) return;
  itimerspec at = {};
  at.it_value.tv_sec = static_cast<time_t>(seconds);
  at.it_value.tv_nsec = 1;  // a time of 0 would disarm the timer
  timerfd_settime(fd_.get(), 0, &at, nullptr);
  progress_->Arm(watch_, true);
}

void HoldTimer::OnReadable() {
  uint64_t times = 0;
  const ssize_t n = read(fd_.get(), &times, sizeof times);
  progress_->Arm(watch_, false);
  if (n != sizeof times) return;
  runs_ = false;
  due_();
}

}  // namespace canopy::client
