// Notifies the launcher of a job that has not started because agents do not
// answer.
#ifndef CANOPY_SERVER_CONTROL_START_WATCH_H_
#define CANOPY_SERVER_CONTROL_START_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/job.h"
#include "server/control/state_collector.h"

namespace canopy::control {

// An agent that does not answer may have ended. With --restart-grace, another
// agent may replace it within the grace period. So the job is not ended, but
// waits. Loop thread only.
class StartWatch {
 public:
  // Prints one line at the launcher of the job.
  using Print =
      std::function<void(const std::string& nspace, const std::string& line)>;

  static constexpr int64_t kPatienceNs = 2'000'000'000;

  // `loop` and `states` must outlive this object.
  StartWatch(EventLoop* loop, StateCollector* states, Print print,
             int64_t patience_ns = kPatienceNs);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  // Starts to watch a job. Called when its launch begins.
  void Begin(const JobSpec& job);
  // Stops watching the job. Called when its nodes are prepared, or it has
  // ended.
  void End(const std::string& nspace);

 private:
  struct Watched {
    EventLoop::TimerId timer = 0;
    std::vector<JobNode> nodes;
  };

  void Arm(const std::string& nspace, Watched* watched);
  void OnLate(const std::string& nspace);
  void OnStates(const std::string& nspace,
                const std::vector<core::StateCollected>& answers);

  EventLoop* const loop_;
  StateCollector* const states_;
  const Print print_;
  const int64_t patience_ns_;
  std::map<std::string, Watched> watched_;  // by job
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_START_WATCH_H_
