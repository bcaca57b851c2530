// Who decides what processes ask of the host. Loop thread.
#ifndef CANOPY_SERVER_PORTS_HOST_PORT_H_
#define CANOPY_SERVER_PORTS_HOST_PORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/host.h"

namespace canopy {

// A tool that has proved whose it is, and has had no welcome yet.
struct ArrivingTool {
  ProcId proc;  // as it names itself; an empty namespace: it wants a name
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool elsewhere = false;  // on another machine, with the overlay's credentials
};

class HostPort {
 public:
  virtual ~HostPort() = default;
  // Answered by one HostAnswered of the same number, from within this call or
  // later, whatever becomes of who decides: kErrNotSupported, at once, for what
  // it does not implement. Under `source` and `request` it is decided once.
  virtual void Ask(const core::AskHost& request) = 0;
  // Whether the tool is served: `done` is called once, from within this call or
  // later, whatever becomes of who decides, and not after this object's end.
  // Where nobody has a say it is: only tools of the agent's user come so far.
  virtual void AskAboutTool(const ArrivingTool&,
                            std::function<void(const Status&)> done) {
    done(Status());
  }
  // Calls of its processes are not answered any more.
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_PORT_H_
