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
  constexpr int kTooFew = kErrJobInsufficientResources;
  return fits_ && fits_(job, Room::kNow).code() == kTooFew &&
         fits_(job, Room::kWithoutOthers).code() != kTooFew;
}

// Returns true if the job needs nodes whose agents do not answer. A spawn
// depends on more than its request, so the planner decides for it.
bool EmbeddedPlacement::AwaitsAgents(const PlacementRequest& request) const {
  return fits_ && away_ && !request.caller.process && !away_().empty() &&
         !fits_(request.job, Room::kNow).ok() &&
         fits_(request.job, Room::kWithAway).ok();
}

void EmbeddedPlacement::Place(PlacementRequest request) {
  if (!Begin(std::move(request))) Retry();
}

// Grants the request and returns true, or lets it wait.
bool EmbeddedPlacement::Begin(PlacementRequest request) {
  if (AwaitsAgents(request)) {
    awaiting_.push_back(std::move(request));
    return false;
  }
  const bool waits =
      request.job.places.waits && (!waiting_.empty() || MustWait(request.job));
  if (!waits) {
    listener_->OnGranted(request.id, {});
    return true;
  }
  // A request that waited at a predecessor of this agent keeps its turn.
  const auto turn = std::ranges::upper_bound(waiting_, request.since_ms, {},
                                             &PlacementRequest::since_ms);
  waiting_.insert(turn, std::move(request));
  return false;
}

void EmbeddedPlacement::Cancel(const PlacementId& id) {
  for (auto* const requests : {&waiting_, &awaiting_}) {
    std::erase_if(*requests,
                  [&](const auto& request) { return request.id == id; });
  }
  RetrySoon(0);
}

void EmbeddedPlacement::RetrySoon(int64_t delay_ns) {
  if (waiting_.empty() && awaiting_.empty()) return;
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
  RetryAwaiting();
  while (!waiting_.empty() && !AwaitsAgents(waiting_.front()) &&
         !MustWait(waiting_.front().job)) {
    const PlacementId id = waiting_.front().id;
    waiting_.pop_front();
    listener_->OnGranted(id, {});
  }
  uint32_t position = 0;
  for (const PlacementRequest& request : waiting_) {
    const std::string reason = position != 0 ? "jobs before it wait for slots"
                               : AwaitsAgents(request)
                                   ? ReasonOfAway()
                                   : "too few slots are free";
    listener_->OnQueued(request.id, {reason, 0, ++position});
  }
  RetrySoon(kRetryNs);
}

std::string EmbeddedPlacement::ReasonOfAway() const {
  return away_() +
         "; if it has ended, 'canopy up --replace' starts another one";
}

void EmbeddedPlacement::RetryAwaiting() {
  for (PlacementRequest& request : std::exchange(awaiting_, {})) {
    (void)Begin(std::move(request));
  }
  for (const PlacementRequest& request : awaiting_) {
    listener_->OnQueued(request.id, {ReasonOfAway(), 0, 0});
  }
}

}  // namespace canopy::host
