#include "server/process/shim_watch.h"

#include <utility>

#include "common/time_units.h"

namespace canopy::process {

ShimWatch::ShimWatch(EventLoop* loop, uint32_t answer_ms, Events events)
    : loop_(loop), answer_ms_(answer_ms), events_(std::move(events)) {}

void ShimWatch::Stop() {
  if (timer_ != 0) loop_->CancelTimer(std::exchange(timer_, 0));
}

void ShimWatch::Wait(int64_t ms, std::function<void()> then) {
  timer_ = loop_->AddTimer(ms * kNsPerMs, [this, then = std::move(then)] {
    timer_ = 0;
    then();
  });
}

void ShimWatch::OnKill(uint32_t grace_ms) {
  Stop();
  Wait(grace_ms + answer_ms_, [this] { Ask(); });
}

void ShimWatch::Ask() {
  answered_ = false;
  if (!events_.ask()) return;
  Wait(answer_ms_, [this] {
    if (!answered_) events_.lost();
  });
}

}  // namespace canopy::process
