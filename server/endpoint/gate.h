// Which connections an endpoint takes, by the user who makes them, and how long
// they may say nothing.
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

// Serves this process's own user, those who have a job here, and tools of other
// machines. A connection is silent until Remove: those of a user with a job may
// say nothing for as long as they are few, because a process can be stopped
// before it says who it is; any other has a time limit. What does not fit the
// limits costs its own source (silent_connections.h). Loop thread only; the loop
// outlives it.
class Gate {
 public:
  struct Parts {
    net::SilenceLimits limits;
    std::function<bool(uint32_t uid)> has_job;
    // Whether the peer has sent what was not read yet.
    std::function<bool(core::ClientId id)> has_unread;
    // Has to close this connection now.
    std::function<void(core::ClientId id, const char* reason)> close;
    std::function<void(const core::LogLine& line)> log;  // may be empty
  };

  Gate(EventLoop* loop, Parts parts);

  // All tools of other machines together.
  static net::Source Relayed() { return {"other machines", {}}; }

  // Whether a connection of that user, as the kernel names it, is taken, or one
  // that is Relayed; the log has why not. It may close another one.
  bool Admits(int fd, const net::Source& source);
  // It was taken, and is silent.
  void Add(core::ClientId id, const net::Source& source);
  // It has said who it is, or is closed. No effect for one that is not silent.
  void Remove(core::ClientId id) { watch_.Remove(id); }

  // A warning that this source has caused: at a limited rate.
  void Warn(const net::Source& source, std::string text);

 private:
  const Parts parts_;
  net::SilenceWatch watch_;
  net::LineLimit lines_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_GATE_H_
