// The queue of inputs for the core, as adapters see it.
#ifndef CANOPY_SERVER_PORTS_INPUT_SINK_H_
#define CANOPY_SERVER_PORTS_INPUT_SINK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "server/core/step/input.h"

namespace canopy {

// Loop thread only. All methods may be called within a port call.
class InputSink {
 public:
  virtual ~InputSink() = default;
  // Queues the input. The core handles it at the next Drain, at the latest at
  // the end of the round of the loop.
  virtual void OnInput(core::Input input) = 0;
  // Handles the queued inputs, and those that arrive meanwhile, before it
  // returns. An adapter may call Drain only where the core may call the
  // adapter's port. An adapter that bounds its turns calls it between two
  // messages, so that the core's work counts as part of the turn. No effect
  // within a port call.
  virtual void Drain() {}
  // Records that work on the loop, which began at this time (CoarseMs), has
  // ended. Work that has held up the loop is counted and logged with its cause.
  virtual void NoteWork(int64_t /*began_ms*/,
                        const std::function<std::string()>& /*cause*/) {}
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_SINK_H_
