// The events that end an agent: signals, and the end of its launcher.
#ifndef CANOPY_SERVER_AGENT_TERMINATION_H_
#define CANOPY_SERVER_AGENT_TERMINATION_H_

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "server/agent/bring_up/signal_watch.h"

namespace canopy::agent {

// Loop thread only.
class Termination {
 public:
  // `requested` receives the reason of each request, including later ones.
  // `loop` outlives this object.
  Termination(EventLoop* loop,
              std::function<void(const std::string& reason)> requested);
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // Treats these signals, which must be blocked, as requests from now on.
  void WatchSignals(std::initializer_list<int> signals);
  // Treats the end of the input `fd` as a request, until UnwatchLauncher. The
  // caller keeps ownership of `fd`.
  void WatchLauncher(int fd);
  void UnwatchLauncher();

  // Records that the agent is ending. Returns false if it was ending already.
  bool Begin(const std::string& reason);
  bool begun() const { return begun_; }

 private:
  EventLoop* const loop_;
  const std::function<void(const std::string& reason)> requested_;
  std::optional<SignalWatch> signals_;
  int launcher_ = -1;
  bool begun_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_TERMINATION_H_
