// One launcher, as the job manager knows it.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/launcher_stream.h"
#include "server/core/step/control_actions.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Loop thread only. The stream is valid until it is gone.
class Launcher {
 public:
  Launcher() = default;
  explicit Launcher(LauncherStream* stream) : stream_(stream) {}

  void Send(v1::RunEvent event) { stream_->Send(std::move(event)); }
  void Finish() { stream_->FinishWhenWritten(); }
  // Its request comes to nothing.
  void Refuse(const Status& status);
  // Its family is over. `jobs`: whose records are left.
  void End(std::vector<std::string> jobs, const v1::JobEnd& end);

  // The same, but it is to ask for its job anew.
  void Requeue(std::vector<std::string> jobs, const v1::JobRequeued& requeued);

  // `nspace`: empty for the first job of the family.
  void SendOutput(const core::DeliverOutput& output, const std::string& nspace);
  // It has written so much out: the nodes whose ranks wrote it get credit.
  void Consume(uint64_t bytes, InputSink* sink);
  // It is gone: nobody waits for what it has not written.
  void ConsumeAll(InputSink* sink);

  uint64_t family = 0;             // 0: none yet, or its end was sent
  std::vector<std::string> ended;  // jobs whose end was sent
  bool requeues = false;           // it can ask for its job anew
  // What came while its job waits for its place.
  std::vector<v1::RunRequest> held;

 private:
  struct Unconsumed {
    std::string nspace;
    Rank rank = 0;
    uint64_t bytes = 0;
  };

  LauncherStream* stream_ = nullptr;
  std::deque<Unconsumed> unconsumed_;  // in order
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_H_
