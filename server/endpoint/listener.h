// The listening socket of an endpoint.
#ifndef CANOPY_SERVER_ENDPOINT_LISTENER_H_
#define CANOPY_SERVER_ENDPOINT_LISTENER_H_

#include <functional>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"

namespace canopy::endpoint {

// Lets another component accept the connections of a listening socket. That
// component passes each connection to `on_connection` on the loop's thread.
// Returns false if that component declines.
using AcceptElsewhere = std::function<bool(
    int listener, std::function<void(UniqueFd)> on_connection)>;

// Loop thread only; the loop must outlive this object.
class Listener {
 public:
  // Accepts connections from the next round on, a limited number in each.
  // `on_exhausted` is called when no descriptor is left, so that connections
  // are refused; it is called again only after a descriptor was free again. The
  // callbacks must not call this object. If `elsewhere` is set and does not
  // decline, it accepts the connections instead.
  Listener(EventLoop* loop, UniqueFd listener,
           std::function<void(UniqueFd)> on_connection,
           std::function<void()> on_exhausted,
           const AcceptElsewhere& elsewhere = nullptr);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd() const { return acceptor_.fd(); }
  // From now on, new connections stay in the backlog.
  void Pause();

 private:
  EventLoop* const loop_;
  Acceptor acceptor_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_LISTENER_H_
