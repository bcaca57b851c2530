// A launcher as the job manager sees it.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/caller.h"
#include "server/control/launcher_stream.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Loop thread only. The stream is valid until the launcher is gone.
class Launcher {
 public:
  Launcher() = default;
  Launcher(LauncherStream* stream, Caller who)
      : caller(std::move(who)), stream_(stream) {}

  void Send(v1::RunEvent event) { stream_->Send(std::move(event)); }
  // Ends the launcher's call after all events have been written.
  void Finish() { stream_->FinishWhenWritten(); }
  // Rejects the launcher's request.
  void Refuse(const Status& status);
  // Reports that the launcher's family is over. `jobs` are those whose records
  // are kept.
  void End(std::vector<std::string> jobs, const v1::JobEnd& end);

  // Like End, but requests that the launcher request its job again.
  void Requeue(std::vector<std::string> jobs, const v1::JobRequeued& requeued);

  // Sends output of a job. `nspace` is empty for the first job of the family.
  void SendOutput(const core::DeliverOutput& output, const std::string& nspace);
  // Records that the launcher has written another `bytes` bytes of output, and
  // grants credit to the nodes from which these bytes came.
  void Consume(uint64_t bytes, InputSink* sink);
  // Grants the credit for all output that the launcher has not written, because
  // the launcher is gone.
  void ConsumeAll(InputSink* sink);

  Caller caller;
  uint64_t family = 0;             // 0: none yet, or its end was sent
  std::vector<std::string> ended;  // the launcher can request its job again
  bool requeues = false;           // it can request its job again
  bool adds_hosts = false;         // it understands AddHosts
  // The number of times that the launcher's job has lost a node before its
  // start.
  uint32_t lost_starts = 0;
  // Requests of the launcher that wait until its job is placed.
  std::vector<v1::RunRequest> held;
  // Set while the launcher's queued job is withdrawn, because the launcher
  // shall request it at another agent.
  std::optional<v1::JobRequeued> moves;

 private:
  struct Unconsumed {
    std::string nspace;
    Rank rank = 0;
    uint64_t bytes = 0;
  };

  LauncherStream* stream_ = nullptr;
  void NoteUnconsumed(const core::DeliverOutput& output, uint64_t bytes);

  std::deque<Unconsumed> unconsumed_;  // in the order of sending
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_H_
