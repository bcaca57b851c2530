#include "server/host/embedded_placement.h"

#include <algorithm>

namespace canopy::host {
namespace {

// Interval at which waiting requests are tried again. Slots also appear when a
// node rejoins or is resumed, which is not reported to this object.
constexpr int64_t kRetryNs = 2'000'000'000;

}  // namespace

EmbeddedPlacement::~EmbeddedPlacement() {
  if (timer_ != 0) loop_->CancelTimer(timer_);
}

bool EmbeddedPlacement::MustWait(const JobRequest& job) const {
  return fits_ &&
         fits_(job, /*alone=*/false).code() == kErrJobInsufficientResources &&
         fits_(job, /*alone=*/true).code() != kErrJobInsufficientResources;
}

void EmbeddedPlacement::Place(PlacementRequest request) {
  const bool waits =
      request.job.places.waits && (!waiting_.empty() || MustWait(request.job));
  if (!waits) return listener_->OnGranted(request.id, {});
  // A request that waited at a predecessor of this agent keeps its turn.
  const auto turn = std::ranges::upper_bound(waiting_, request.since_ms, {},
                                             &PlacementRequest::since_ms);
  waiting_.insert(turn, std::move(request));
  Retry();
}

void EmbeddedPlacement::Cancel(const PlacementId& id) {
  std::erase_if(waiting_,
                [&](const auto& request) { return request.id == id; });
  RetrySoon(0);
}

void EmbeddedPlacement::RetrySoon(int64_t delay_ns) {
  if (waiting_.empty()) return;
  const int64_t due = EventLoop::Now() + delay_ns;
  if (timer_ != 0 && due_ <= due) return;
  if (timer_ != 0) loop_->CancelTimer(timer_);
  due_ = due;
  timer_ = loop_->AddTimer(delay_ns, [this] {
    timer_ = 0;
    Retry();
  });
}

void EmbeddedPlacement::Retry() {
  while (!waiting_.empty() && !MustWait(waiting_.front().job)) {
    const PlacementId id = waiting_.front().id;
    waiting_.pop_front();
    listener_->OnGranted(id, {});
  }
  uint32_t position = 0;
  for (const PlacementRequest& request : waiting_) {
    const char* const reason = position == 0 ? "too few slots are free"
                                             : "jobs before it wait for slots";
    listener_->OnQueued(request.id, {reason, 0, ++position});
  }
  RetrySoon(kRetryNs);
}

}  // namespace canopy::host
