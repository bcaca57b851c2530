// The launcher's side of Control.Run: one job, with those that it spawns, from
// launch to end.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/base/signals.h"
#include "client/cli/control/run_connection.h"
#include "client/cli/run/run_link.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// What became of a piece of output.
enum class OutputFate {
  kWritten,
  kHeld,     // in part: OnTick is to be asked when it must go out
  kNoReader  // the job is ended
};

// Receives what happens to the job, in order, on a thread of RunJob's; OnTick
// comes on RunJob's caller's thread, possibly at the same time.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // The job waits for a scheduler; again when the reason has changed.
  virtual void OnQueued(const control::v1::JobQueued&) {}
  // The job was ended, and is asked for anew.
  virtual void OnRequeued(const control::v1::JobRequeued&) {}
  // First of the job that was asked for, then of those that are spawned.
  virtual void OnMapped(const control::v1::JobMapped& mapped) = 0;
  // A job that was spawned is over, and so is its output.
  virtual void OnSpawnedEnd(const control::v1::SpawnedEnd& ended) = 0;
  // A line for the user.
  virtual void OnNotice(const std::string& text) = 0;
  virtual void OnProgress(const control::v1::Progress& progress) = 0;
  virtual void OnProgramNotes(const control::v1::ProgramNotes& notes) = 0;
  // Returns when the data is written out or held in bounds: that is what paces
  // the job.
  virtual OutputFate OnOutput(const control::v1::Output& output) = 0;
  // Does what time demands. In how many ms to call again at the latest; -1:
  // after the next kHeld.
  virtual int OnTick() = 0;
};

struct RunClientOptions {
  int stdin_fd = -1;  // forwarded to the job; -1: none
  SignalSource* signals = nullptr;
  // What is sent to the nodes before the launch, which asks for it.
  std::vector<preload::Item> files;
  RunLinkOptions link;
};

struct RunOutcome {
  control::v1::JobEnd end;
  int end_signal = 0;      // that we got and ended the job for
  bool no_reader = false;  // the job was ended because of its output
};

// That of the process that asked for the job.
int ExitCodeOf(const RunOutcome& outcome);

// Runs one job. Blocks. An end signal asks the agents to end the job and waits
// for that; a second one has it killed; when that takes long, or with a third,
// RunJob returns with kErrJobCanceled and leaves a thread behind that may
// still use the observer: the process is to exit. A connection that breaks
// for good gives kErrLostConnection.
Result<RunOutcome> RunJob(std::unique_ptr<RunConnection> connection,
                          const control::v1::Launch& launch,
                          const RunClientOptions& options,
                          std::shared_ptr<RunObserver> observer);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_
