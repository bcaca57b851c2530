// What the control service knows of each job that this agent controls, and what
// it leaves for a successor.
#ifndef CANOPY_SERVER_CONTROL_JOB_RECORD_H_
#define CANOPY_SERVER_CONTROL_JOB_RECORD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/core/step/control_actions.h"
#include "server/ports/job_commands_port.h"
#include "server/ports/placement_port.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// What the host has granted, and to which request.
struct Placed {
  PlacementId id;
  PlacementGrant grant;
  int64_t queued_ms = 0;  // when it was asked for, since 1970
  int64_t give_up = 0;    // EventLoop::Now(), by when it is to run; 0: any time
  std::string name = {};  // of the job; empty: that of the request
};

// The same of a job that was launched on nodes that were granted by name.
struct PlacementFacts {
  PlacementId id;  // without a name: it was not
  std::string host_job;
  int64_t queued_ms = 0;   // since 1970
  int64_t started_ms = 0;  // since 1970

  bool any() const { return !id.request.empty(); }
};

// How a job was launched, beyond its map.
struct LaunchFacts {
  bool oversubscribe = false;  // it was asked for, also for jobs that it spawns
  // Of a job that JobSpec::parent has spawned: the number of its request.
  std::optional<uint64_t> spawn_request;
  bool separate = false;  // it lives and dies without its parent
  // So does the job that spawned it, or one before that.
  bool apart = false;
  uint32_t reports = 0;  // what is told of it: bits of spawn::Report
  // When it is ended unless it has started, as EventLoop::Now(); 0: never, or
  // it has.
  int64_t start_deadline = 0;
  bool tool = false;  // it takes no slots
  // Its request made another job too, whose namespace is the answer.
  bool cospawned = false;
  // The other job of its request, until both have started; empty: none.
  std::string partner;
  PlacementFacts placed;
  // It was ended so that its launcher asks for it anew.
  bool requeued = false;
  // Of one that the host has started, which has no launcher.
  std::optional<HostOutput> host_output;
  bool nohup = false;       // it goes on when its launcher is gone
  bool unattended = false;  // and that is so
};

// Whether the job's failure is one of what its launcher has asked for.
inline bool CountsForFamily(const LaunchFacts& facts) {
  return !facts.separate && !facts.apart;
}

// Of one job while it lives.
struct JobRecord {
  std::shared_ptr<const JobSpec> job;
  LaunchFacts facts;
  core::JobPhase phase = core::JobPhase::kPreparing;
  uint32_t procs_ended = 0;
  int64_t since = 0;  // EventLoop::Now() of the launch
  uint64_t family = 0;
  bool out_of_time = false;  // and its pending operations were collected
  // Its spawner has been told of it: what becomes of it concerns the family.
  bool connected = false;
  // To those who are told: that the first process has started, and the last.
  bool told_first = false;
  bool told_start = false;
  // Of its launcher, which can reattach once the job is persisted.
  std::string token;
  // Of processes that the parent's job has not been told of; no consequences of
  // the job's own end. Of one that failed more than once, the last.
  std::map<Rank, core::ProcExit> failures;

  const std::string& parent() const { return job->parent.nspace; }
};

using JobRecords = std::map<std::string, JobRecord>;

using PlannedJob = Result<std::shared_ptr<const JobSpec>>;

// Turns requests into mapped jobs, or gives the reason in one line.
struct JobPlanner {
  // As of JobCommandsPort; without a reason, the node takes jobs again.
  std::function<Status(const std::string& name, const std::string& reason)>
      drain;
  // A line for the agent's log.
  std::function<void(const std::string& text)> warn;
  // canopy-stacks, on each node.
  std::string stacks_program;
  // A name that no job of the overlay has had.
  std::function<std::string()> new_name;
  // The job's name is that of its request.
  std::function<PlannedJob(const v1::Launch& launch, const Placed& placed)>
      launch;
  // `spawner` is a process of a job that is known.
  std::function<PlannedJob(const spawn::SpawnCall& call, const ProcId& spawner,
                           const Placed& placed)>
      spawn;
};

// Persists what a successor needs so that a job's launcher can reattach.
class LaunchPersistence {
 public:
  virtual ~LaunchPersistence() = default;
  // `token`: of the launcher of the job or of its family. False: it was not
  // persisted.
  virtual bool PersistLaunch(const JobSpec& job, const std::string& token,
                             const LaunchFacts& facts) = 0;
  // In place of those of PersistLaunch, which will have them if it is still to
  // come.
  virtual void PersistFacts(const std::string& nspace,
                            const LaunchFacts& facts) = 0;
  // How much of the output of a job with host_output is in its files, in place
  // of what was said before.
  virtual void PersistOutput(const std::string& nspace,
                             const std::string& state) = 0;
  // `end`: a JobEnd as bytes.
  virtual void PersistEnd(const std::string& nspace,
                          const std::string& end) = 0;
  virtual void DropControl(const std::string& nspace) = 0;
};

// What LaunchPersistence persisted.
struct PersistedJob {
  std::shared_ptr<const JobSpec> job;
  std::string token;
  LaunchFacts facts;
  int64_t since = 0;               // EventLoop::Now() of the launch
  std::optional<std::string> end;  // when it is over
  std::string output;              // of PersistOutput; empty: nothing yet
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_RECORD_H_
