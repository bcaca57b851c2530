// Where adapters put what happened.
#ifndef CANOPY_SERVER_PORTS_INPUT_SINK_H_
#define CANOPY_SERVER_PORTS_INPUT_SINK_H_

#include "server/core/step/input.h"

namespace canopy {

// Loop thread only; may be called from within a port call (the runtime queues
// it).
class InputSink {
 public:
  virtual ~InputSink() = default;
  virtual void OnInput(core::Input input) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_SINK_H_
