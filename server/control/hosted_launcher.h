// In the place of a launcher, of a job that the host has started: its output
// goes to files.
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

// What is written is persisted with how much came of each node, and only then
// acknowledged: a successor goes on behind it, so that each byte of output is
// in the file once however this agent ends. Loop thread only.
class HostedLauncher : public LauncherStream {
 public:
  // How the job manager is told, never from within Send.
  struct Events {
    std::function<void(v1::RunRequest request)> request;
    std::function<void()> gone;  // may destroy the launcher
    // Of the family, whose first job has no name here; null: none.
    std::function<const JobSpec*(const std::string& nspace)> job;
    // Its state, for Reattach; then a line for people that something failed.
    std::function<void(const std::string& state)> persist;
    std::function<void(const std::string& text)> warn;
  };

  HostedLauncher(EventLoop* loop, Events events);
  ~HostedLauncher() override;

  // Of a new job. `opened` gets a status that says which file can not be
  // opened, and may destroy the launcher; within it the job is persisted.
  // `held` is kept as long as a thread is opening files.
  void Begin(const HostOutput& output, std::shared_ptr<void> held,
             std::function<void(const Status& status)> opened);
  // In a successor, with what was persisted (empty: nothing yet). Without its
  // files the output is dropped, and that is said.
  void Reattach(const HostOutput& output, const std::string& token,
                std::string_view state);

  void Send(v1::RunEvent event) override;
  void FinishWhenWritten() override;

 private:
  struct Piece {
    std::string nspace;
    uint32_t node = 0;
    uint64_t bytes = 0;  // 0: a line of the agent's own
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
  // Of each job that has had output: how much, by node, is in the files.
  std::map<std::string, std::vector<uint64_t>> received_;
  std::deque<Piece> pieces_;  // that are being written
  bool finishing_ = false;    // nothing more is sent
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOSTED_LAUNCHER_H_
