// Starts and controls processes, as the runtime sees it. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_PROCESS_PORT_H_
#define CANOPY_SERVER_PORTS_PROCESS_PORT_H_

#include <string>

#include "server/core/step/process_actions.h"

namespace canopy {

class ProcessPort {
 public:
  virtual ~ProcessPort() = default;
  // The commands are those of core/step/process_actions.h, which states what
  // each does and which inputs answer it. Commands for an unknown job have no
  // effect.
  virtual void Prepare(const core::PrepareLocal& job) = 0;
  virtual void Start(const core::StartLocal& start) = 0;
  virtual void Restart(const core::RestartLocal& restart) = 0;
  virtual void Signal(const core::SignalLocal& signal) = 0;
  virtual void Kill(const core::KillLocal& kill) = 0;
  virtual void Forget(const std::string& nspace) = 0;
  virtual void Credit(const core::CreditOutput& credit) = 0;
  virtual void ResendOutput(const std::string& nspace) = 0;
  virtual void Feed(const core::FeedInput& input) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PROCESS_PORT_H_
