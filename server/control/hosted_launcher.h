// Takes the place of the launcher of a job that the host has started, and
// writes the job's output to files.
#ifndef CANOPY_SERVER_CONTROL_HOSTED_LAUNCHER_H_
#define CANOPY_SERVER_CONTROL_HOSTED_LAUNCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/event_loop.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/launcher_stream.h"
#include "server/control/output_writer.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// After each write, persists the positions in the files and the number of bytes
// received from each node, and only then acknowledges the output. A successor
// continues from these positions, so each byte of output is in the file once,
// however this agent ends. Loop thread only.
class HostedLauncher : public LauncherStream {
 public:
  // The connections to the job manager. They are never called during Send.
  struct Events {
    std::function<void(v1::RunRequest request)> request;
    std::function<void()> gone;  // may destroy the launcher
    // Returns a job of the family, or null; the empty name means the first job.
    std::function<const JobSpec*(const std::string& nspace)> job;
    // Persists the state that Reattach needs. `warn` logs a failure as a line
    // for people.
    std::function<void(const std::string& state)> persist;
    std::function<void(const std::string& text)> warn;
  };

  HostedLauncher(EventLoop* loop, Events events);
  ~HostedLauncher() override;

  // Starts a new job. `opened` receives the result of opening the files; an
  // error names the file. The call of `opened` may destroy the launcher, and
  // the job is persisted during that call. `held` is kept as long as a thread
  // is opening files.
  void Begin(const HostOutput& output, std::shared_ptr<void> held,
             std::function<void(const Status& status)> opened);
  // Continues the job in a successor with the persisted state, which is empty
  // if none was persisted. If the files cannot be opened, the output is dropped
  // with a warning.
  void Reattach(const HostOutput& output, const std::string& token,
                std::string_view state);

  void Send(v1::RunEvent event) override;
  void FinishWhenWritten() override;

 private:
  struct Piece {
    std::string nspace;
    uint32_t node = 0;
    uint64_t bytes = 0;  // 0: a line that the agent has written
  };

  void OnOutput(const v1::Output& output);
  void WriteLine(const std::string& text);
  void OnWritten(size_t pieces, const OutputPositions& at,
                 const Status& status);
  void FinishIfDone();
  std::string State(const OutputPositions& at) const;
  bool TakeState(std::string_view state, OutputPositions* at);
  void Open(const HostOutput& output, std::optional<OutputPositions> from,
            std::shared_ptr<void> held, OutputWriter::Opened opened);

  EventLoop* const loop_;
  const Events events_;
  std::unique_ptr<OutputWriter> writer_;
  // For each job that has had output: the number of bytes in the files, by the
  // node that has sent them.
  std::map<std::string, std::vector<uint64_t>> received_;
  std::deque<Piece> pieces_;  // being written
  bool finishing_ = false;    // true: Send is no longer called
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOSTED_LAUNCHER_H_
