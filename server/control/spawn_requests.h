// The spawn requests whose jobs have been launched and whose spawner has not
// been answered.
#ifndef CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_
#define CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/control/recovered_requests.h"
#include "server/core/step/client_id.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// The jobs of a request, one or two, start together or not at all: if one does
// not start, or fails before the other has started, the other is ended. Loop
// thread only.
class SpawnRequests {
 public:
  explicit SpawnRequests(EventLoop* loop) : loop_(loop) {}
  ~SpawnRequests();
  SpawnRequests(const SpawnRequests&) = delete;
  SpawnRequests& operator=(const SpawnRequests&) = delete;

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Rejects a request for which no job was created.
  void Refuse(const core::HostSpawn& spawn, const Status& status);
  // Records that the jobs of the request are being launched. They are ended if
  // they have not started by `deadline` (EventLoop::Now(); 0: no limit). The
  // first of `jobs` is the result of the spawn.
  void Begin(const core::HostSpawn& spawn, std::vector<std::string> jobs,
             int64_t deadline);
  // Recovers a request of a predecessor. The core gets the jobs of the request
  // once the loop runs.
  void Recover(const RecoveredRequest& request);
  // Returns true if the job's spawner is still to be answered.
  bool Awaits(const std::string& nspace) const {
    return pending_.contains(nspace);
  }
  // Handles a change of a job that has `num_procs` processes. Answers the
  // spawner if all jobs of the spawn request have now started, or if the
  // request has failed and all its jobs are over. If they have started, returns
  // the jobs of the request, one of which may be over already. Otherwise
  // returns no jobs.
  std::vector<std::string> OnJobChanged(const core::JobChanged& change,
                                        size_t num_procs);

 private:
  struct Pending {
    ProcId proc;
    core::RequestId request = 0;
    std::vector<std::string> jobs;
    // jobs of which some process has not started
    std::set<std::string> starting;
    std::set<std::string> living;  // jobs that are not over
    std::optional<int> failure;    // the status for the spawner
    EventLoop::TimerId timer = 0;
  };

  void Await(const std::shared_ptr<Pending>& pending, int64_t deadline);
  void OnTimeout(const std::shared_ptr<Pending>& pending);
  void OnEnded(const core::JobChanged& change, Pending* pending);
  void End(const Pending& pending, const std::string& reason);
  void Answer(const Pending& pending);

  EventLoop* const loop_;
  InputSink* sink_ = nullptr;
  // The key is the namespace of a job that is not over.
  std::map<std::string, std::shared_ptr<Pending>> pending_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_
