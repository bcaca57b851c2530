// What job-control requests ask for, as far as it is done on the requesting node.
// Loop thread.
#ifndef CANOPY_SERVER_PORTS_JOB_CONTROL_PORT_H_
#define CANOPY_SERVER_PORTS_JOB_CONTROL_PORT_H_

#include <string>

#include "common/bytes.h"
#include "common/status.h"
#include "server/core/step/client_actions.h"

namespace canopy {

class JobControlPort {
 public:
  virtual ~JobControlPort() = default;
  // Decides at once. `results` is codec form: SIZE n, then n INFO; or empty.
  virtual Status Control(const core::ControlJob& request, Bytes* results) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_JOB_CONTROL_PORT_H_
