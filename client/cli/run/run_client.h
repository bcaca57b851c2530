// The launcher's side of Control.Run: one job and the jobs that it spawns, from
// launch to end.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/base/signals.h"
#include "client/cli/control/run_connection.h"
#include "client/cli/run/host_adder.h"
#include "client/cli/run/run_link.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// The result of writing a piece of output.
enum class OutputFate {
  kWritten,
  kHeld,     // written in part; OnTick returns when the rest is due
  kNoReader  // no reader is left: the job is ended
};

// Receives the events of the job, in order, on a thread that RunJob has
// created. OnTick is called on the thread of RunJob's caller, possibly at the
// same time.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Called when the job waits for a scheduler, and again when the reason
  // changes.
  virtual void OnQueued(const control::v1::JobQueued&) {}
  // Called when the agents have ended the job and this launcher has requested
  // it anew.
  virtual void OnRequeued(const control::v1::JobRequeued&) {}
  // Called first for the requested job, then for jobs that are spawned.
  virtual void OnMapped(const control::v1::JobMapped& mapped) = 0;
  // Called when a spawned job and its output have ended.
  virtual void OnSpawnedEnd(const control::v1::SpawnedEnd& ended) = 0;
  // `text` is a line for the user.
  virtual void OnNotice(const std::string& text) = 0;
  virtual void OnProgress(const control::v1::Progress& progress) = 0;
  virtual void OnProgramNotes(const control::v1::ProgramNotes& notes) = 0;
  // Returns when the data has been written or is held within bounds. This
  // limits the rate of the job's output.
  virtual OutputFate OnOutput(const control::v1::Output& output) = 0;
  // Performs work that is due. Returns the time until the next call in
  // milliseconds; -1: no call is needed until OnOutput returns kHeld again.
  virtual int OnTick() = 0;
};

struct RunClientOptions {
  int stdin_fd = -1;  // forwarded to the job; -1: none
  bool pty = false;   // stdin_fd is a terminal, and the job has one of its own
  SignalSource* signals = nullptr;
  // The time between SIGTERM and SIGKILL when the job is ended.
  std::chrono::seconds kill_grace{0};
  // The files that are sent to the nodes when the agent requests them.
  std::vector<preload::Item> files;
  RunLinkOptions link;
  // Adds the hosts of spawns to the overlay. Null: such spawns are refused.
  HostAdder::Add add_hosts = {};
};

struct RunOutcome {
  control::v1::JobEnd end;
  int end_signal = 0;      // signal that made the launcher end the job
  bool no_reader = false;  // the job was ended because its output had no reader
};

// Returns the exit code for the process that requested the job.
int ExitCodeOf(const RunOutcome& outcome);

// Runs one job and returns when it has ended. The first end signal requests the
// end of the job, and RunJob waits for that end; a second one kills the job. If
// the end takes long, or with a third signal, RunJob returns kErrJobCanceled
// and leaves a thread that may still use the observer, so the process must
// exit. Returns kErrLostConnection if the connection cannot be restored.
Result<RunOutcome> RunJob(std::unique_ptr<RunConnection> connection,
                          const control::v1::Launch& launch,
                          const RunClientOptions& options,
                          std::shared_ptr<RunObserver> observer);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_CLIENT_H_
