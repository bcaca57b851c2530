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
  // later.
  virtual void Ask(const core::AskHost& request) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_PORT_H_
