// Decides which connections an endpoint accepts, by their user, and how long
// they may be silent.
#ifndef CANOPY_SERVER_ENDPOINT_GATE_H_
#define CANOPY_SERVER_ENDPOINT_GATE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/event_loop.h"
#include "server/core/step/client_id.h"
#include "server/core/step/log_line.h"
#include "server/net/line_limit.h"
#include "server/net/silence_watch.h"
#include "server/net/silent_connections.h"
#include "server/net/source.h"

namespace canopy::endpoint {

// Accepts connections of this process's own user, of users with a job on this
// node (or of all users), and of tools on other machines. A connection is
// silent until Remove. A limited number of connections of a user with a job may
// be silent for an unlimited time, because a process can be stopped before it
// identifies itself; other silent connections have a time limit. Excess
// connections are ended at the cost of their own source (silent_connections.h).
// Loop thread only; the loop must outlive this object.
class Gate {
 public:
  struct Parts {
    net::SilenceLimits limits;
    std::function<bool(uint32_t uid)> has_job;
    // Returns true if the peer has sent data that was not read yet.
    std::function<bool(core::ClientId id)> has_unread;
    // Must close this connection immediately.
    std::function<void(core::ClientId id, const char* reason)> close;
    std::function<void(const core::LogLine& line)> log;  // may be empty
    // True: connections of every user are accepted.
    bool serves_all_users = false;
  };

  Gate(EventLoop* loop, Parts parts);

  // Returns the common source of all tools on other machines.
  static net::Source Relayed() { return {"other machines", {}}; }

  // Returns true if a connection from this source is accepted; otherwise logs
  // the reason. The source is a user, as the kernel reports it, or Relayed().
  // May close another connection.
  bool Admits(int fd, const net::Source& source);
  // Counts an accepted connection as silent.
  void Add(core::ClientId id, const net::Source& source);
  // Ends the silence of a connection that has identified itself or is closed.
  // Has no effect on a connection that is not silent.
  void Remove(core::ClientId id) { watch_.Remove(id); }

  // Logs a warning that this source has caused, at a limited rate.
  void Warn(const net::Source& source, std::string text);

 private:
  const Parts parts_;
  net::SilenceWatch watch_;
  net::LineLimit lines_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_GATE_H_
