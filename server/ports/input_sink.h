// Where adapters put what happened.
#ifndef CANOPY_SERVER_PORTS_INPUT_SINK_H_
#define CANOPY_SERVER_PORTS_INPUT_SINK_H_

#include "server/core/step/input.h"

namespace canopy {

// Loop thread only; may be called from within a port call.
class InputSink {
 public:
  virtual ~InputSink() = default;
  // Queues the input. The core handles it at the next Drain, at the latest when
  // the round of the loop is over.
  virtual void OnInput(core::Input input) = 0;
  // Handles the queued inputs, and those that come meanwhile, before it
  // returns: to be called where the ports of the caller may be called. An
  // adapter that bounds its turns calls it between two messages, so that the
  // work of the core counts. Without effect within a port call.
  virtual void Drain() {}
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_SINK_H_
