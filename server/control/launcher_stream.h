// The connection to a launcher (client of Control.Run), over gRPC or a local
// socket.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_

#include <cstdint>

#include "protos/control.pb.h"
#include "server/control/caller.h"

namespace canopy::control {

// Loop thread only. Valid until OnGone.
class LauncherStream {
 public:
  virtual ~LauncherStream() = default;
  // Queues the event. Never waits.
  virtual void Send(v1::RunEvent event) = 0;
  // Ends the call after all events have been written.
  virtual void FinishWhenWritten() = 0;
};

// The callbacks of launcher streams, which are always called on the loop
// thread, except NewLauncher.
class LauncherListener {
 public:
  virtual ~LauncherListener() = default;
  // Returns an unused number for a new launcher. Any thread.
  virtual uint64_t NewLauncher() = 0;
  // Returns whether this agent is the leader, at which new jobs are launched.
  virtual bool Leads() const { return true; }
  // Called for a new launcher of this user, before its first request.
  virtual void OnLauncher(uint64_t id, LauncherStream* launcher,
                          const Caller& caller) = 0;
  virtual void OnRequest(uint64_t id, v1::RunRequest request) = 0;
  // Called when the launcher is gone or finished; never during Send.
  virtual void OnGone(uint64_t id) = 0;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_STREAM_H_
