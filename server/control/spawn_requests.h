// The spawns that are being executed: their jobs have been launched, and
// whoever asked for them is yet to be answered.
#ifndef CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_
#define CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/client_id.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Loop thread only.
class SpawnRequests {
 public:
  explicit SpawnRequests(EventLoop* loop) : loop_(loop) {}
  ~SpawnRequests();
  SpawnRequests(const SpawnRequests&) = delete;
  SpawnRequests& operator=(const SpawnRequests&) = delete;

  void set_sink(InputSink* sink) { sink_ = sink; }

  // No job was made of it.
  void Refuse(const core::HostSpawn& spawn, const Status& status);
  // Its job is being launched, and is ended when it has not started by then
  // (EventLoop::Now(); 0: never).
  void Begin(const core::HostSpawn& spawn, const std::string& nspace,
             int64_t deadline);
  // A predecessor's, whose job goes on: being launched, running or, with
  // `ended`, over after a successful start.
  void Recover(const ProcId& proc, core::RequestId request,
               const std::string& nspace, int64_t deadline, bool ended);
  // Answers the request whose job this is when its launch has come to an end.
  // True: the spawner is told now that the job, of so many processes, runs.
  bool OnJobChanged(const core::JobChanged& change, size_t num_procs);

 private:
  struct Pending {
    ProcId proc;
    core::RequestId request = 0;
    EventLoop::TimerId timer = 0;
    bool out_of_time = false;
  };

  void Await(const ProcId& proc, core::RequestId request,
             const std::string& nspace, int64_t deadline);
  void OnTimeout(const std::string& nspace);
  void Answer(const Pending& pending, const core::JobChanged& change,
              bool started);

  EventLoop* const loop_;
  InputSink* sink_ = nullptr;
  std::map<std::string, Pending> pending_;  // by the namespace of the job
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_SPAWN_REQUESTS_H_
