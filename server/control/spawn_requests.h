// The spawns that are being executed: their jobs have been launched, and
// whoever asked for them is yet to be answered.
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

// The jobs of a request, one or two, start together or not at all: when one
// does not start, or has failed before the other has started, the other is
// ended. Loop thread only.
class SpawnRequests {
 public:
  explicit SpawnRequests(EventLoop* loop) : loop_(loop) {}
  ~SpawnRequests();
  SpawnRequests(const SpawnRequests&) = delete;
  SpawnRequests& operator=(const SpawnRequests&) = delete;

  void set_sink(InputSink* sink) { sink_ = sink; }

  // No job was made of it.
  void Refuse(const core::HostSpawn& spawn, const Status& status);
  // Its jobs are being launched, and are ended when they have not started by
  // then (EventLoop::Now(); 0: never). The first of `jobs` is the answer.
  void Begin(const core::HostSpawn& spawn, std::vector<std::string> jobs,
             int64_t deadline);
  // A predecessor's. The core has its jobs once the loop runs.
  void Recover(const RecoveredRequest& request);
  // Whether the job's spawner is yet to be told of it.
  bool Awaits(const std::string& nspace) const {
    return pending_.contains(nspace);
  }
  // Answers the request whose job this is, of so many processes, when the
  // launch has come to an end. Returns the jobs that its spawner is told now to
  // run; one may be over.
  std::vector<std::string> OnJobChanged(const core::JobChanged& change,
                                        size_t num_procs);

 private:
  struct Pending {
    ProcId proc;
    core::RequestId request = 0;
    std::vector<std::string> jobs;
    std::set<std::string> starting;  // not all of their processes have started
    std::set<std::string> living;    // they are not over
    std::optional<int> failure;      // the status for the spawner
    EventLoop::TimerId timer = 0;
  };

  void Await(const std::shared_ptr<Pending>& pending, int64_t deadline);
  void OnTimeout(const std::shared_ptr<Pending>& pending);
  void OnEnded(const core::JobChanged& change, Pending* pending);
  void End(const Pending& pending, const std::string& reason);
  void Answer(const Pending& pending);

  EventLoop* const loop_;
  InputSink* sink_ = nullptr;
  // By the namespace of each job that is not over.
  std::map<std::string, std::shared_ptr<Pending>> pending_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_
