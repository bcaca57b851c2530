// What a scheduler has done to jobs and nodes. Loop thread.
#ifndef CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_
#define CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/ports/placement_port.h"

namespace canopy {

// Where the output of a job goes that has no launcher: files, by absolute
// paths.
struct HostOutput {
  std::string output;   // empty: it is dropped
  std::string error;    // empty: goes with the other
  bool append = false;  // behind what is there
};

// A job of the scheduler's own.
struct HostLaunch {
  PlacementId id;  // of no other job
  PlacementGrant grant;
  std::vector<PlacementApp> apps;  // each with a program
  std::string cwd;                 // empty: the root directory
  std::vector<std::string> env;    // NAME=VALUE
  std::string map_by;
  HostOutput output;
};

// At the root. `host_job`: the scheduler's own name of a job that it has
// placed. kErrNotFound: none runs under it.
class JobCommandsPort {
 public:
  virtual ~JobCommandsPort() = default;
  // Does not wait for the end of it.
  virtual Status KillHostJob(const std::string& host_job,
                             const std::string& reason, bool immediately) = 0;
  // `signal`: 1 to 64, to every process.
  virtual Status SignalHostJob(const std::string& host_job, int signal) = 0;
  // In place of the limits that it has; 0: none. Its processes get an event
  // `warn_seconds` before, 0: none.
  virtual Status SetHostTimeLimit(const std::string& host_job, uint32_t seconds,
                                  uint32_t warn_seconds) = 0;
  // Ends it, and has its launcher ask for it anew. kErrNotSupported: it cannot
  // be started anew; kErrUnreach: its launcher is not there;
  // kErrInvalidOperation: it is being ended.
  virtual Status RequeueHostJob(const std::string& host_job,
                                const std::string& reason) = 0;
  // Without a launcher. `done` gets the job's namespace, from within this call
  // or when its output's files are open. kErrExists: there is one of that
  // request; kErrJobSysOpFailed: a file can not be opened; kErrTimeout: not in
  // half a minute; kErrResourceBusy: those of too many jobs are being opened;
  // or why it cannot be mapped.
  using Launched = std::function<void(const Result<std::string>& nspace)>;
  virtual void LaunchHostJob(const HostLaunch& launch, Launched done) = 0;
  // The namespace of a job that was launched so and is not over; or empty.
  virtual std::string HostLaunched(const PlacementId& id) const = 0;
  // It takes no new jobs, for this reason, until it is resumed or this agent is
  // restarted; those that run go on. kErrNotFound: there is no such node.
  virtual Status DrainNode(const std::string& name,
                           const std::string& reason) = 0;
  virtual Status ResumeNode(const std::string& name) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_JOB_COMMANDS_PORT_H_
