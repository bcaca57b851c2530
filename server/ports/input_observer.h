// Who sees an input that an adapter has put before the core acts on it.
#ifndef CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_
#define CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_

#include "server/core/step/peer_inputs.h"
#include "server/core/step/process_inputs.h"

namespace canopy {

// Observers do not change the input, and may not put others. Each kind that is
// observed has a function here, so that all other inputs pass at no cost. Loop
// thread.
class InputObserver {
 public:
  virtual ~InputObserver() = default;
  virtual void OnNodeStateChanged(const core::NodeStateChanged& /*change*/) {}
  virtual void OnLocalExits(const core::LocalExits& /*exits*/) {}
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_OBSERVER_H_
