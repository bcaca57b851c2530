// Sees inputs before the core acts on them, and certain actions of the core.
#ifndef CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_
#define CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_

#include "common/ids.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/peer_inputs.h"
#include "server/core/step/process_inputs.h"

namespace canopy {

// Observers do not change an input and may not add others. Each observed kind
// has a method here, so all other inputs pass at no cost. Loop thread only.
class InputObserver {
 public:
  virtual ~InputObserver() = default;
  // Called before the core handles the input.
  virtual void OnNodeStateChanged(const core::NodeStateChanged& /*change*/) {}
  virtual void OnLocalExits(const core::LocalExits& /*exits*/) {}
  // Called in the order of the core's actions.
  virtual void OnJobHeld(const core::JobHeld& /*change*/) {}
  virtual void OnToolGone(const ProcId& /*proc*/) {}
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_
