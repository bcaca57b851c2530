// Why an agent ends: a signal, or the end of its launcher.
#ifndef CANOPY_SERVER_AGENT_TERMINATION_H_
#define CANOPY_SERVER_AGENT_TERMINATION_H_

#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"

namespace canopy::agent {

// Loop thread only.
class Termination {
 public:
  // `requested` gets the reason of each request, also of later ones. `loop`
  // outlives it.
  Termination(EventLoop* loop,
              std::function<void(const std::string& reason)> requested);
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // SIGINT and SIGTERM, which are blocked, are requests from now on.
  void WatchSignals();
  // The end of the input is one, until UnwatchLauncher. `fd` is the caller's.
  void WatchLauncher(int fd);
  void UnwatchLauncher();

  // The agent is ending from now on; false when it was already.
  bool Begin(const std::string& reason);
  bool begun() const { return begun_; }

 private:
  EventLoop* const loop_;
  const std::function<void(const std::string& reason)> requested_;
  UniqueFd signals_;
  int launcher_ = -1;
  bool begun_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_TERMINATION_H_
