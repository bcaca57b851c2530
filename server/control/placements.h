// Jobs that wait for the host to say where and when they run.
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
  uint64_t launcher = 0;  // who asked; 0: a process
  PlacementQueued state;
  bool told = false;  // the launcher knows that it waits
};

// Every wait ends in one call of its `Decided`. Loop thread only.
class Placements : public PlacementListener {
 public:
  using Decided = std::function<void(const Result<Placed>& placed)>;
  // A job waits, or the reason has changed.
  using Waits = std::function<void(QueuedJob* job)>;

  Placements(EventLoop* loop, Waits waits)
      : loop_(loop), waits_(std::move(waits)) {}
  ~Placements() override;
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  // Before anything is asked, and when nothing waits.
  void set_port(PlacementPort* port);

  bool HeedsDirectives() const { return port_->HeedsDirectives(); }
  // The decision may come from within the call. A request that waits already is
  // not asked again: false, and nothing comes of this one.
  bool Ask(QueuedJob job, Decided decided);
  // Takes it out of the queue. False: it does not wait.
  bool Cancel(const std::string& request, const Status& why);
  void CancelOfLauncher(uint64_t launcher, const Status& why);
  // Those that processes of the job have asked for.
  void CancelOfParent(const std::string& nspace, const Status& why);
  void CancelAll(const Status& why);

  // What the host is told of a job that it has placed; nothing of others.
  void Launched(const JobRecord& record, bool recovered);
  void Changed(const JobRecord& record, const core::JobChanged& change);
  // `last`: no other job is on what was granted for it.
  void Released(const JobRecord& record, const core::JobChanged& end,
                bool last);
  // Nothing came of what was granted.
  void ReleaseUnused(const Placed& placed, const PlacementRequest& request,
                     const Status& why);

  bool Waiting(const std::string& request) const {
    return waiting_.contains(request);
  }
  bool WaitingFor(uint64_t launcher) const;
  size_t size() const { return waiting_.size(); }
  // In the order of their names.
  void ForEach(const std::function<void(const QueuedJob&)>& visit) const;

  void OnQueued(const PlacementId& id, const PlacementQueued& queued) override;
  void OnGranted(const PlacementId& id, const PlacementGrant& grant) override;
  void OnRefused(const PlacementId& id, const Status& why) override;

 private:
  struct Entry {
    QueuedJob job;
    Decided decided;
    EventLoop::TimerId timer = 0;
  };

  Entry* Find(const PlacementId& id);
  void CancelIf(const std::function<bool(const QueuedJob&)>& matches,
                const Status& why);
  // The wait is over.
  void Decide(const PlacementId& id, const Result<Placed>& placed);

  EventLoop* const loop_;
  const Waits waits_;
  PlacementPort* port_ = nullptr;
  std::map<std::string, Entry> waiting_;  // by the request's name
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PLACEMENTS_H_
