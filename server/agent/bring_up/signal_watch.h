// Signals as events of a loop.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_SIGNAL_WATCH_H_
#define CANOPY_SERVER_AGENT_BRING_UP_SIGNAL_WATCH_H_

#include <functional>
#include <initializer_list>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"

namespace canopy::agent {

// Loop thread only.
class SignalWatch {
 public:
  // Calls `raised` with the number of each of these signals that the process
  // gets from now on. The signals must be blocked in all threads. Does nothing
  // if no descriptor is left. `loop` outlives this object.
  SignalWatch(EventLoop* loop, std::initializer_list<int> signals,
              std::function<void(int signal)> raised);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  EventLoop* const loop_;
  const std::function<void(int signal)> raised_;
  UniqueFd fd_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_SIGNAL_WATCH_H_
