// The caller's side of Control.Run: one job from launch to end.
#ifndef CANOPY_CLIENT_CLI_RUN_CLIENT_H_
#define CANOPY_CLIENT_CLI_RUN_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Receives what happens to the job. Calls come on one thread, in order, while
// Run is in progress.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void OnMapped(const control::v1::JobMapped& mapped) = 0;
  virtual void OnProgress(const control::v1::Progress& progress) = 0;
  // Returns when the data is written out: that is what paces the job. False
  // when nobody reads any more; the job is then ended.
  virtual bool OnOutput(const control::v1::Output& output) = 0;
};

struct RunOptions {
  int stdin_fd = -1;  // forwarded to the job; -1: none
};

// Runs one job over the control endpoint at `target` ("unix:PATH"; a TCP
// address takes `tls_key`, the overlay's cluster key). Blocks. SIGINT, SIGTERM
// and the signals that mpirun forwards must be blocked in every thread of the
// process: they are taken here. A connection that breaks gives a status.
Result<control::v1::JobEnd> RunJob(const std::string& target,
                                   const std::string& tls_key,
                                   const control::v1::Launch& launch,
                                   const RunOptions& options,
                                   RunObserver* observer);

// Blocks, in the calling thread and those it makes, what RunJob takes.
void BlockForwardedSignals();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_CLIENT_H_
