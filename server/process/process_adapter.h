// Starts and holds processes through canopy-shim. Each job has one shim, which
// outlives the agent. The agent's successor recovers the shim.
#ifndef CANOPY_SERVER_PROCESS_PROCESS_ADAPTER_H_
#define CANOPY_SERVER_PROCESS_PROCESS_ADAPTER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/job.h"
#include "common/posix/named_fd.h"
#include "common/status.h"
#include "server/core/step/process_actions.h"
#include "server/ports/fd_store_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"
#include "server/ports/process_port.h"
#include "server/ports/process_text.h"
#include "server/process/child_reaper.h"
#include "server/process/shim_job.h"

namespace canopy::process {

// A job whose processes outlived an agent. No reports about it are made before
// ProcessAdapter::ResumeReports.
struct RecoveredJob {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
  bool started = false;  // false: the job was only prepared
  // Local ranks: waiting, running with their pids, or ended.
  std::vector<RankState> ranks;
  std::vector<NamedFd> held;  // descriptors that the predecessor stored
};

// For every local rank of a started job, one exit is reported. A rank that
// could not be started gets, after LocalStarted with an error, exit code 127 or
// 126. If the shim itself is lost, all remaining ranks are reported as killed
// by SIGKILL. A job that another agent has recovered is not reported any more.
// Loop thread only.
class ProcessAdapter : public ProcessPort, public FdStorePort {
 public:
  // `loop` and `sink` must outlive the adapter.
  ProcessAdapter(EventLoop* loop, InputSink* sink, ProcessOptions options);
  // Disconnects from the shims. Each waits for a successor for at most
  // ProcessOptions::orphan_ms.
  ~ProcessAdapter() override;

  // Sets the contributors to the environment of processes, which Prepare calls
  // in this order. Called before the first Prepare or ResumeReports; the
  // contributors must live as long as the loop runs.
  void set_environments(std::vector<ProcessEnvironment*> environments) {
    context_.environments = std::move(environments);
  }

  void Prepare(const core::PrepareLocal& job) override;
  void Start(const core::StartLocal& start) override;
  void Restart(const core::RestartLocal& restart) override;
  void Signal(const core::SignalLocal& signal) override;
  void Kill(const core::KillLocal& kill) override;
  void Forget(const std::string& nspace) override;
  void Credit(const core::CreditOutput& credit) override;
  void ResendOutput(const std::string& nspace) override;
  void Feed(const core::FeedInput& input) override;

  // Inserts a text into the output of a rank, like PutText of process_text.h.
  void Put(ProcessText text, TextDone done);

  // Forgets every job. Shims that another agent has taken over continue.
  void ForgetAll();

  // Announces a handover: sets how long the processes of every job wait for the
  // successor, in place of ProcessOptions::orphan_ms.
  void PrepareHandover(uint32_t ms);

  // These functions store descriptors in the job's shim. A successor gets them
  // in RecoveredJob::held.
  void HoldFile(const std::string& nspace, NamedFd file) override;
  bool HoldConnections(const std::string& nspace,
                       std::vector<NamedFd> connections) override;
  void ReleaseConnection(const std::string& nspace, const std::string& name,
                         Release when) override;

  // Looks for shims in the runtime directory, and removes the sockets of dead
  // ones. Calls `done` once with all recovered jobs, after at most two seconds,
  // or within the call if there are none. Then ResumeReports or Forget must be
  // called for each job. Called before the first Prepare.
  using OnRecovered = std::function<void(std::vector<RecoveredJob> jobs)>;
  void Recover(OnRecovered done);

  // Starts the reports about a recovered job: first its processes, to the
  // environments, then unacknowledged output and all exits, including exits
  // that a predecessor reported. LocalPrepared and LocalStarted are not
  // reported again.
  void ResumeReports(const std::string& nspace);

  // Return the numbers of held jobs, and of shims that are ending: shims that
  // are still connected, or children that have not been reaped.
  size_t jobs() const { return jobs_.size(); }
  bool Holds(const std::string& nspace) const { return jobs_.contains(nspace); }
  size_t ending() const { return ending_.size() + reaper_.pending(); }

 private:
  struct Recovery {
    OnRecovered done;
    std::vector<RecoveredJob> found;
    std::list<std::unique_ptr<ShimJob>> greeting;
    EventLoop::TimerId timer = 0;
  };

  Result<StartedShim> ShimFor(const JobSpec& job) const;
  ShimJob* Find(const std::string& nspace);
  void OnGone(ShimJob* job);
  void Greet(const std::string& socket_name);
  void OnFound(ShimJob* job, std::vector<NamedFd> held);
  void FinishRecoveryIfDone();
  void FinishRecovery();

  FindingCache findings_;
  ProcessContext context_;
  Status directory_status_;
  std::map<std::string, std::unique_ptr<ShimJob>> jobs_;
  std::list<std::unique_ptr<ShimJob>> ending_;
  std::unique_ptr<Recovery> recovery_;
  ChildReaper reaper_;
  // Reaps shims that another agent has taken over. They end with their jobs.
  ChildReaper replaced_reaper_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROCESS_ADAPTER_H_
