// The operations of a scheduler on the jobs that it has placed, and on nodes.
// They run at the root.
#ifndef CANOPY_SERVER_CONTROL_HOST_COMMANDS_H_
#define CANOPY_SERVER_CONTROL_HOST_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/hosted_jobs.h"
#include "server/control/job_record.h"
#include "server/control/launch_pipeline.h"
#include "server/control/launcher_stream.h"
#include "server/control/placements.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// Loop thread only.
class HostCommands : public JobCommandsPort {
 public:
  // The objects outlive HostCommands. A job whose output the host directs to
  // files has no launcher; `launchers` serves it instead.
  struct Parts {
    EventLoop* loop = nullptr;
    const JobPlanner* planner = nullptr;
    Families* families = nullptr;
    Placements* placements = nullptr;
    LaunchPipeline* pipeline = nullptr;
    LauncherListener* launchers = nullptr;
    InputSink* sink = nullptr;
  };
  explicit HostCommands(const Parts& parts);

  // Recovers a job of the predecessor that the host had launched.
  void Recover(const PersistedJob& job) { hosted_.Recover(job); }

  Status KillHostJob(const std::string& host_job, const std::string& reason,
                     bool immediately) override;
  Status SignalHostJob(const std::string& host_job, int signal) override;
  Status SuspendHostJob(const std::string& host_job, bool suspended) override;
  Status SetHostTimeLimit(const std::string& host_job, uint32_t seconds,
                          uint32_t warn_seconds) override;
  Status RequeueHostJob(const std::string& host_job,
                        const std::string& reason) override;
  void LaunchHostJob(const HostLaunch& launch, Launched done) override;
  std::string HostLaunched(const PlacementId& id) const override;
  Status DrainNode(const std::string& name, const std::string& reason) override;
  Status ResumeNode(const std::string& name) override;

  // Makes the launcher request the job again when the job, which the caller
  // ends now, is over. Returns the errors of RequeueHostJob.
  Status Requeue(JobRecord* record, const std::string& reason);

 private:
  Result<std::string> LaunchHosted(uint64_t launcher, const HostLaunch& launch,
                                   const Placed& placed);
  Status MayOwn(const std::optional<HostOwner>& owner) const;
  std::vector<std::string> HostJobs(const std::string& host_job) const;
  Status MayRequeue(const JobRecord& record) const;

  const Parts p_;
  HostedJobs hosted_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOST_COMMANDS_H_
