// Decides where and when jobs run if there is no scheduler.
#ifndef CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_
#define CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "common/job_request.h"
#include "common/status.h"
#include "server/ports/placement_port.h"

namespace canopy::host {

// Grants requests within Place and without names of nodes, except requests that
// wait for slots (JobPlaces::waits). These are granted one after the other,
// first come, first served, when their jobs fit beside the jobs that run. A job
// that would not fit even alone is granted, so that its mapping reports why.
// Loop thread only.
class EmbeddedPlacement : public PlacementPort {
 public:
  // Returns kErrJobInsufficientResources if the job would find too few slots:
  // now, or, with `alone`, if no other job ran.
  using Fits = std::function<Status(const JobRequest& job, bool alone)>;

  explicit EmbeddedPlacement(EventLoop* loop) : loop_(loop) {}
  ~EmbeddedPlacement() override;
  EmbeddedPlacement(const EmbeddedPlacement&) = delete;
  EmbeddedPlacement& operator=(const EmbeddedPlacement&) = delete;

  // If no function is set, no request waits.
  void set_fits(Fits fits) { fits_ = std::move(fits); }

  void set_listener(PlacementListener* listener) override {
    listener_ = listener;
  }
  bool HeedsDirectives() const override { return false; }
  void Place(PlacementRequest request) override;
  void Cancel(const PlacementId& id) override;
  void SlotsFreed() override { RetrySoon(0); }
  void Launched(const PlacedJob&, bool) override {}
  void Changed(const std::string&, core::JobPhase, uint32_t) override {}
  void Suspended(const std::string&, bool) override {}
  void Released(const PlacedJob&, const PlacedEnd&) override {}

 private:
  bool MustWait(const JobRequest& job) const;
  // Schedules Retry, unless it is due earlier.
  void RetrySoon(int64_t delay_ns);
  // Grants the first requests that fit, and reports the positions of the
  // others.
  void Retry();

  EventLoop* const loop_;
  Fits fits_;
  PlacementListener* listener_ = nullptr;
  std::deque<PlacementRequest> waiting_;  // in the order of their turns
  EventLoop::TimerId timer_ = 0;          // 0: Retry is not scheduled
  int64_t due_ = 0;                       // EventLoop::Now() of Retry
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_
