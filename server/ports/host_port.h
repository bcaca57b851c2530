// Who decides what processes ask of the host. Loop thread.
#ifndef CANOPY_SERVER_PORTS_HOST_PORT_H_
#define CANOPY_SERVER_PORTS_HOST_PORT_H_

#include <string>

#include "server/core/step/host.h"

namespace canopy {

class HostPort {
 public:
  virtual ~HostPort() = default;
  // Answered by one HostAnswered of the same number, from within this call or
  // later, whatever becomes of who decides: kErrNotSupported, at once, for what
  // it does not implement. Under `source` and `request` it is decided once.
  virtual void Ask(const core::AskHost& request) = 0;
  // Calls of its processes are not answered any more.
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_PORT_H_
