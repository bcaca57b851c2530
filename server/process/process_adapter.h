// Starts and holds processes through canopy-shim: one shim for each job, which
// outlives the agent and is recovered by its successor.
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

// A job whose processes outlived an agent. Nothing of it is reported until
// ProcessAdapter::ResumeReports.
struct RecoveredJob {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
  bool started = false;  // else it was prepared only
  // Local ranks: waiting, running with their pids, or ended.
  std::vector<RankState> ranks;
  std::vector<NamedFd> held;  // what the predecessor stored
};

// Loop thread only. Every local rank of a started job gets one exit: a rank
// that could not be started after LocalStarted with an error, as exit code 127
// or 126; all that are left as killed by SIGKILL when the shim itself is lost.
// Nothing more is reported of a job that another agent has recovered.
class ProcessAdapter : public ProcessPort, public FdStorePort {
 public:
  // `loop` and `sink` must outlive the adapter.
  ProcessAdapter(EventLoop* loop, InputSink* sink, ProcessOptions options);
  // Disconnects from the shims, which wait for a successor as long as
  // ProcessOptions::orphan_ms allows.
  ~ProcessAdapter() override;

  // Who adds to the environment of processes, asked in this order during
  // Prepare. To be called before the first Prepare or ResumeReports; they must
  // live as long as the loop runs.
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

  // As PutText of process_text.h: a rank of a job that is held wants a text
  // among its output.
  void Put(ProcessText text, TextDone done);

  // Forget for every job that is held.
  void ForgetAll();

  // A handover is due: sets how long the processes of every job wait for the
  // successor, in place of ProcessOptions::orphan_ms.
  void PrepareHandover(uint32_t ms);

  // The job's shim holds the descriptors: RecoveredJob::held of a successor.
  void HoldFile(const std::string& nspace, NamedFd file) override;
  bool HoldConnections(const std::string& nspace,
                       std::vector<NamedFd> connections) override;
  void ReleaseConnection(const std::string& nspace, const std::string& name,
                         Release when) override;

  // Looks for shims in the runtime directory, and removes the sockets of dead
  // ones. Calls `done` once with every job found, at the latest after two
  // seconds; in the call itself when there is none. ResumeReports or Forget is
  // to be called for each job then. To be called before the first Prepare.
  using OnRecovered = std::function<void(std::vector<RecoveredJob> jobs)>;
  void Recover(OnRecovered done);

  // Starts reporting on a recovered job: its processes to the environments,
  // then unacknowledged output and all exits, including those that a
  // predecessor reported. LocalPrepared and LocalStarted are not reported
  // again.
  void ResumeReports(const std::string& nspace);

  // Jobs that are held, and shims that are ending: connected still, or
  // children that have not been reaped.
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
  // Of shims that another agent has taken over: they end when their job does.
  ChildReaper replaced_reaper_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROCESS_ADAPTER_H_
