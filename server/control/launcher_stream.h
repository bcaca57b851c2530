// One launcher (client of Control.Run), over gRPC or a local socket.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_

#include <cstdint>

#include "protos/control.pb.h"

namespace canopy::control {

// Loop thread; valid until OnGone.
class LauncherStream {
 public:
  virtual ~LauncherStream() = default;
  // Queues the event; never waits.
  virtual void Send(v1::RunEvent event) = 0;
  // Ends the call once everything sent before is written.
  virtual void FinishWhenWritten() = 0;
};

// Callbacks of launcher streams, always on the loop thread.
class LauncherListener {
 public:
  virtual ~LauncherListener() = default;
  // An unused number for a new launcher. Any thread.
  virtual uint64_t NewLauncher() = 0;
  virtual void OnLauncher(uint64_t id, LauncherStream* launcher) = 0;
  virtual void OnRequest(uint64_t id, v1::RunRequest request) = 0;
  // The launcher is gone or finished; not from within Send.
  virtual void OnGone(uint64_t id) = 0;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_
