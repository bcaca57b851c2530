// Decides what processes request of the host. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_HOST_PORT_H_
#define CANOPY_SERVER_PORTS_HOST_PORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/host.h"

namespace canopy {

// A tool whose user is authenticated, and that has not been accepted yet.
struct ArrivingTool {
  ProcId proc;  // as the tool names itself; an empty namespace requests a name
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool elsewhere = false;  // on another machine, with the overlay's credentials
};

class HostPort {
 public:
  virtual ~HostPort() = default;
  // Requests a decision. The answer is one HostAnswered with the same number,
  // within this call or later, even if the decider fails. An operation that is
  // not implemented is answered with kErrNotSupported within this call. A
  // request with the same `source` and `request` is decided once.
  virtual void Ask(const core::AskHost& request) = 0;
  // Decides whether to serve the tool. Calls `done` once, within this call or
  // later, even if the decider fails, but not after this object is destroyed.
  // By default every tool is served, because only tools of the agent's own user
  // get this far.
  virtual void AskAboutTool(
      const ArrivingTool&,
      // NOLINTNEXTLINE(performance-unnecessary-value-param): overrides keep it
      std::function<void(const Status&)> done) {
    done(Status());
  }
  // After this call, calls of the job's processes are not answered any more.
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_PORT_H_
