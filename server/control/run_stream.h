// The stream to a launcher over gRPC: the server side of Control.Run.
#ifndef CANOPY_SERVER_CONTROL_RUN_STREAM_H_
#define CANOPY_SERVER_CONTROL_RUN_STREAM_H_

#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "common/mutex.h"
#include "protos/control.grpc.pb.h"
#include "server/control/launcher_stream.h"

namespace canopy::control {

// The service creates a stream for each call. The stream reads until the
// launcher is gone or sends an invalid request, which ends the call. It writes
// the events that Send queues, one at a time. gRPC's OnDone deletes it, after
// OnGone. Send and FinishWhenWritten may be called on the loop thread until
// OnGone.
class RunStream : public LauncherStream,
                  public grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> {
 public:
  RunStream(uint64_t id, EventLoop* loop, LauncherListener* owner);

  // Starts to read. Called once, after OnLauncher.
  void Begin();
  void Send(v1::RunEvent event) override;
  void FinishWhenWritten() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void PumpLocked() CANOPY_REQUIRES(mutex_);
  void OnReadEnd();

  const uint64_t id_;
  EventLoop* const loop_;
  LauncherListener* const owner_;
  v1::RunRequest incoming_;
  Mutex mutex_;
  std::deque<v1::RunEvent> outgoing_ CANOPY_GUARDED_BY(mutex_);
  absl::Status end_ CANOPY_GUARDED_BY(mutex_);
  bool writing_ CANOPY_GUARDED_BY(mutex_) = false;
  bool finish_ CANOPY_GUARDED_BY(mutex_) = false;
  bool finished_ CANOPY_GUARDED_BY(mutex_) = false;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_RUN_STREAM_H_
