// One caller of Control.Run, however it is connected.
#ifndef CANOPY_SERVER_CONTROL_RUN_CALLER_H_
#define CANOPY_SERVER_CONTROL_RUN_CALLER_H_

#include <cstdint>

#include "protos/control.pb.h"

namespace canopy::control {

// Loop thread; valid until its owner is told OnGone.
class RunCaller {
 public:
  virtual ~RunCaller() = default;
  // Queues the event; never waits.
  virtual void Send(v1::RunEvent event) = 0;
  // Ends the call once everything sent before is written.
  virtual void FinishWhenWritten() = 0;
};

// What callers tell their owner, always on the loop thread.
class RunOwner {
 public:
  virtual ~RunOwner() = default;
  // A number for a new caller, not used before. Any thread.
  virtual uint64_t NewCaller() = 0;
  virtual void OnCaller(uint64_t id, RunCaller* caller) = 0;
  virtual void OnRequest(uint64_t id, v1::RunRequest request) = 0;
  // The caller is gone or finished; not from within Send.
  virtual void OnGone(uint64_t id) = 0;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_RUN_CALLER_H_
