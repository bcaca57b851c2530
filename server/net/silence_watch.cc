#include "server/net/silence_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace canopy::net {
namespace {

// The timer's period is the limit divided by this number, so a connection may
// be silent for a quarter longer.
constexpr int64_t kSteps = 4;
constexpr int64_t kShortestStepNs = int64_t{1000} * 1000;

}  // namespace

SilenceWatch::SilenceWatch(EventLoop* loop, Parts parts)
    : loop_(loop),
      end_(std::move(parts.end)),
      now_(std::move(parts.now)),
      step_ns_(
          std::max(parts.policy.limits.timeout_ns / kSteps, kShortestStepNs)),
      silent_(std::move(parts.policy)),
      looked_ns_(now_()) {}

SilenceWatch::~SilenceWatch() { loop_->CancelTimer(timer_); }

// Returns the time for which the loop ran. A timer step that takes much longer
// than planned shows that the loop did not run, so only a part of it counts.
int64_t SilenceWatch::Now() {
  const int64_t now = now_();
  running_ns_ += std::min(now - std::exchange(looked_ns_, now), 2 * step_ns_);
  return running_ns_;
}

bool SilenceWatch::MakeRoom(const Source& source, Supply supply) {
  const std::optional<Id> other =
      silent_.TakeForNewcomer(source, supply, Now());
  if (other) end_(*other, Reason::kMakesRoom);
  return !silent_.full();
}

void SilenceWatch::Add(Id id, const Source& source) {
  silent_.Add(id, source, Now());
  SetTimer();
}

void SilenceWatch::SetTimer() {
  if (timer_ != 0) return;
  timer_ = loop_->AddTimer(step_ns_, [this] { OnTimer(); });
}

void SilenceWatch::OnTimer() {
  timer_ = 0;
  const int64_t now = Now();
  silent_.Sweep();
  while (const std::optional<Id> late = silent_.TakeOverdue(now)) {
    end_(*late, Reason::kTimeout);
  }
  if (!empty()) SetTimer();
}

}  // namespace canopy::net
