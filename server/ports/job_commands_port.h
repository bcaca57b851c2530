// Commands of a scheduler for jobs and nodes. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_
#define CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/job_request.h"
#include "common/status.h"
#include "server/ports/placement_port.h"

namespace canopy {

// The files for the output of a job without a launcher, as absolute paths.
struct HostOutput {
  std::string output;   // empty: output is discarded
  std::string error;    // empty: standard error goes to the same file
  bool append = false;  // append to an existing file
};

// The owner of jobs whose processes the agents do not start. Such an owner needs
// no account on any node. Jobs of different owners are hidden from each other.
struct HostOwner {
  uint32_t uid = 0;
  std::string name;
};

// A job that the scheduler launches itself.
struct HostLaunch {
  PlacementId id;  // used by no other job
  PlacementGrant grant;
  JobRequest job;  // at least one application, each with a program
  HostOutput output;
  // No value: the job belongs to the agents' own user.
  std::optional<HostOwner> owner = {};
};

// Called at the root. `host_job` is the scheduler's own name of a job that it
// has placed. Every function with this argument returns kErrNotFound if no such
// job runs.
class JobCommandsPort {
 public:
  virtual ~JobCommandsPort() = default;
  // Ends the job; if `immediately` is true, without its grace time. Does not
  // wait for the job's end.
  virtual Status KillHostJob(const std::string& host_job,
                             const std::string& reason, bool immediately) = 0;
  // Sends `signal`, 1 to 64, to every process.
  virtual Status SignalHostJob(const std::string& host_job, int signal) = 0;
  // Stops every process if `suspended` is true, and lets every process continue
  // otherwise.
  virtual Status SuspendHostJob(const std::string& host_job,
                                bool suspended) = 0;
  // Replaces the job's time limit, in seconds from now; 0: no limit. Its
  // processes get an event `warn_seconds` before the limit; 0: no event.
  virtual Status SetHostTimeLimit(const std::string& host_job, uint32_t seconds,
                                  uint32_t warn_seconds) = 0;
  // Ends the job and makes its launcher request it again. kErrNotSupported: the
  // job cannot be started again; kErrUnreach: its launcher is gone;
  // kErrInvalidOperation: it is already being ended.
  virtual Status RequeueHostJob(const std::string& host_job,
                                const std::string& reason) = 0;
  // Launches a job without a launcher. Calls `done` with the job's namespace,
  // within this call or when the job's output files are open. Errors:
  // kErrExists if there is a job for this request, or a job of another owner
  // with the same number; kErrJobSysOpFailed if a file
  // cannot be opened; kErrTimeout if opening takes more than half a minute;
  // kErrResourceBusy if the files of too many jobs are being opened; or the
  // reason why the job cannot be mapped.
  using Launched = std::function<void(const Result<std::string>& nspace)>;
  virtual void LaunchHostJob(const HostLaunch& launch, Launched done) = 0;
  // Returns the namespace of a running job that was launched by LaunchHostJob;
  // an empty text if there is no such job.
  virtual std::string HostLaunched(const PlacementId& id) const = 0;
  // Excludes the node from new jobs, for this reason, until ResumeNode. Running
  // jobs continue. kErrNotFound: there is no such node.
  virtual Status DrainNode(const std::string& name,
                           const std::string& reason) = 0;
  // Admits new jobs to the node again. kErrNotFound: there is no such node.
  virtual Status ResumeNode(const std::string& name) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_
