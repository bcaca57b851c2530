// The jobs that wait for the host to decide where and when they run.
#ifndef CANOPY_SERVER_CONTROL_PLACEMENTS_H_
#define CANOPY_SERVER_CONTROL_PLACEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"
#include "server/ports/placement_port.h"

namespace canopy::control {

struct QueuedJob {
  PlacementRequest request;
  uint64_t launcher = 0;  // the requesting launcher; 0: a process
  PlacementQueued state;
  bool told = false;  // the launcher knows that the job waits
  uint32_t unusable_grants = 0;
};

// Every wait ends with one call of its `Decided`. Loop thread only.
class Placements : public PlacementListener {
 public:
  using Decided = std::function<void(const Result<Placed>& placed)>;
  // Called when a job begins to wait, or when the reason for its wait has
  // changed.
  using Waits = std::function<void(QueuedJob* job)>;

  Placements(EventLoop* loop, Waits waits)
      : loop_(loop), waits_(std::move(waits)) {}
  ~Placements() override;
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  // Sets the host. Called before the first request, or when no job waits.
  void set_port(PlacementPort* port);

  bool HeedsDirectives() const { return port_->HeedsDirectives(); }
  // Requests a placement. The decision may arrive during the call. Returns
  // false, and drops the job, if a request of this name waits already.
  bool Ask(QueuedJob job, Decided decided);
  // Requests another placement of a job whose grant could not be used, after a
  // pause that grows with the number of such grants. The job waits meanwhile.
  void AskAgain(QueuedJob job, const Status& why, Decided decided);
  // Removes a job from the queue. Returns false if it does not wait.
  bool Cancel(const std::string& request, const Status& why);
  void CancelOfLauncher(uint64_t launcher, const Status& why);
  // Cancels the requests of the job's processes.
  void CancelOfParent(const std::string& nspace, const Status& why);
  void CancelAll(const Status& why);

  // These functions notify the host of changes of a job that it has placed.
  // They have no effect for other jobs.
  void Launched(const JobRecord& record, bool recovered);
  void Changed(const JobRecord& record, const core::JobChanged& change);
  void Suspended(const JobRecord& record);
  // Notifies the host of the end of a job. `last` means that no other job uses
  // the grant.
  void Released(const JobRecord& record, const core::JobChanged& end,
                bool last);
  // Notifies the host that a job has ended, whether or not the host has placed
  // it.
  void SlotsFreed() { port_->SlotsFreed(); }
  // Notifies the host that its grant is not used.
  void ReleaseUnused(const Placed& placed, const PlacementRequest& request,
                     const Status& why);

  // Returns true if a request of this name waits.
  bool Waiting(const std::string& request) const {
    return waiting_.contains(request);
  }
  // Returns true if a request of this launcher waits.
  bool WaitingFor(uint64_t launcher) const;
  size_t size() const { return waiting_.size(); }
  // Calls `visit` for the jobs, in the order of their names.
  void ForEach(const std::function<void(const QueuedJob&)>& visit) const;

  void OnQueued(const PlacementId& id, const PlacementQueued& queued) override;
  void OnGranted(const PlacementId& id, const PlacementGrant& grant) override;
  void OnRefused(const PlacementId& id, const Status& why) override;

 private:
  struct Entry {
    QueuedJob job;
    Decided decided;
    EventLoop::TimerId timer = 0;    // ends the wait at its limit
    EventLoop::TimerId pause = 0;    // the pause before the request to the host
    EventLoop::TimerId silence = 0;  // expires if the host does not answer
  };

  // Adds an entry. Returns null if an entry of this name exists.
  Entry* Add(QueuedJob job, Decided decided);

  void CancelTimers(const Entry& entry);
  Entry* Find(const PlacementId& id);
  // Requests the placement. If the host does not answer for a while, the job's
  // launcher is notified that the job waits.
  void Request(const PlacementId& id);
  void CancelIf(const std::function<bool(const QueuedJob&)>& matches,
                const Status& why);
  // Ends the wait with this decision.
  void Decide(const PlacementId& id, const Result<Placed>& placed);

  EventLoop* const loop_;
  const Waits waits_;
  PlacementPort* port_ = nullptr;
  std::map<std::string, Entry> waiting_;  // by the name of the request
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PLACEMENTS_H_
