// The listening socket of an endpoint.
#ifndef CANOPY_SERVER_ENDPOINT_LISTENER_H_
#define CANOPY_SERVER_ENDPOINT_LISTENER_H_

#include <functional>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"

namespace canopy::endpoint {

// Has connections of a listening socket accepted by somebody else, who gives
// each to `on_connection`, in the loop's thread. False: it will not.
using AcceptElsewhere = std::function<bool(
    int listener, std::function<void(UniqueFd)> on_connection)>;

// Loop thread only; the loop outlives it.
class Listener {
 public:
  // Accepts from the next round on, a limited number in each. `on_exhausted`:
  // no descriptor is left, so that connections are refused; once until there is
  // one again. The callbacks leave this object alone. With `elsewhere`, unless
  // that refuses, nothing is accepted here.
  Listener(EventLoop* loop, UniqueFd listener,
           std::function<void(UniqueFd)> on_connection,
           std::function<void()> on_exhausted,
           const AcceptElsewhere& elsewhere = nullptr);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd() const { return acceptor_.fd(); }
  // Leaves connections that are made from now on in the backlog.
  void Pause();

 private:
  EventLoop* const loop_;
  Acceptor acceptor_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_LISTENER_H_
