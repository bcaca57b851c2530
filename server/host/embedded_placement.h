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

// Grants most requests during the call of Place, and without names of nodes. A
// request waits for slots if it permits that (JobPlaces::waits); such requests
// are granted first come, first served, when their jobs fit beside the jobs
// that run. Another request waits for agents that do not answer, until its job
// fits without these agents or would not even fit with them. A job that would
// not fit even alone is granted, so that its mapping reports why. Loop thread
// only.
class EmbeddedPlacement : public PlacementPort {
 public:
  // The slots that a job may use.
  enum class Room {
    kNow,            // what other jobs leave on nodes whose agents answer
    kWithAway,       // the same, and nodes whose agents do not answer
    kWithoutOthers,  // all nodes, as if no other job ran
  };
  // Returns the error with which the mapper would refuse the job. Too few slots
  // are kErrJobInsufficientResources.
  using Fits = std::function<Status(const JobRequest& job, Room room)>;
  // Returns a line about the agents that do not answer, or an empty text.
  using Away = std::function<std::string()>;

  explicit EmbeddedPlacement(EventLoop* loop) : loop_(loop) {}
  ~EmbeddedPlacement() override;
  EmbeddedPlacement(const EmbeddedPlacement&) = delete;
  EmbeddedPlacement& operator=(const EmbeddedPlacement&) = delete;

  // Without `fits` no request waits, and without `away` no request waits for
  // agents.
  void set_fits(Fits fits) { fits_ = std::move(fits); }
  void set_away(Away away) { away_ = std::move(away); }

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
  bool AwaitsAgents(const PlacementRequest& request) const;
  // Schedules Retry, unless it is due earlier.
  void RetrySoon(int64_t delay_ns);
  // Grants the requests that need not wait any more, and reports the positions
  // and reasons of the others.
  void Retry();
  bool Begin(PlacementRequest request);
  void RetryAwaiting();
  std::string ReasonOfAway() const;

  EventLoop* const loop_;
  Fits fits_;
  Away away_;
  PlacementListener* listener_ = nullptr;
  std::deque<PlacementRequest> waiting_;   // in the order of their turns
  std::deque<PlacementRequest> awaiting_;  // requests that wait for agents
  EventLoop::TimerId timer_ = 0;           // 0: Retry is not scheduled
  int64_t due_ = 0;                        // EventLoop::Now() of Retry
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_EMBEDDED_PLACEMENT_H_
