// The control service's records of the jobs that this agent controls, and the
// records that it keeps for a successor.
#ifndef CANOPY_SERVER_CONTROL_JOB_RECORD_H_
#define CANOPY_SERVER_CONTROL_JOB_RECORD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/job_request.h"
#include "common/status.h"
#include "common/topology.h"
#include "protos/control.pb.h"
#include "server/control/caller.h"
#include "server/core/step/control_actions.h"
#include "server/ports/job_commands_port.h"
#include "server/ports/placement_port.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// The host's grant for a request.
struct Placed {
  PlacementId id;
  PlacementGrant grant;
  int64_t queued_ms = 0;  // time of the request, in ms since 1970
  int64_t give_up = 0;    // latest start, by EventLoop::Now(); 0: none
  std::string name = {};  // the job's name; empty: the name of the request
};

// The part of a grant that the record of a job keeps. Empty if the grant does
// not list nodes.
struct PlacementFacts {
  PlacementId id;  // no request: no grant with a list of nodes
  std::string host_job;
  int64_t queued_ms = 0;   // ms since 1970
  int64_t started_ms = 0;  // ms since 1970
  std::string caller_job;  // the host's name for the caller's job

  bool any() const { return !id.request.empty(); }
};

// How a job was launched, beyond its map.
struct LaunchFacts {
  bool oversubscribe = false;  // requested, also for jobs that it spawns
  // The number of the spawn request, for a job that a process has spawned
  // (JobSpec::parent).
  std::optional<uint64_t> spawn_request;
  bool separate = false;  // lives and dies independently of its parent
  // True if the job's spawner or an earlier ancestor is separate.
  bool apart = false;
  uint32_t reports = 0;  // requested notices: bits of JobReports
  // The time at which the job must have started (EventLoop::Now()); 0 if there
  // is no limit, or if the job has started.
  int64_t start_deadline = 0;
  bool tool = false;  // takes no slots
  // True for the second job of a request; the first job is the result of the
  // spawn.
  bool cospawned = false;
  // The name of the other job of the request until both have started; empty
  // otherwise.
  std::string partner;
  PlacementFacts placed;
  // True if the job was ended so that its launcher requests it again.
  bool requeued = false;
  // Set for a job that the host has started and that therefore has no launcher.
  std::optional<HostOutput> host_output;
  bool nohup = false;       // continues when its launcher is gone
  bool unattended = false;  // the job continues without its launcher
  // The spawner's directives for the output and the map: an encoded
  // v1::JobMapped with only these fields. Empty: there are none.
  std::string wishes;
  bool suspended = false;  // the host has stopped its processes
};

// Returns true if a failure of the job counts as a failure of its family.
inline bool CountsForFamily(const LaunchFacts& facts) {
  return !facts.separate && !facts.apart;
}

// The record of one job while it lives.
struct JobRecord {
  std::shared_ptr<const JobSpec> job;
  LaunchFacts facts;
  core::JobPhase phase = core::JobPhase::kPreparing;
  uint32_t procs_ended = 0;
  int64_t since = 0;  // EventLoop::Now() of the launch
  uint64_t family = 0;
  bool out_of_time = false;  // true: the job has exceeded its time limit
  // True if the spawner has been notified that the job runs, so that the job's
  // end concerns the family.
  bool connected = false;
  // True when the start of the first process (told_first) or of all processes
  // (told_start) has been announced.
  bool told_first = false;
  bool told_start = false;
  // The token of the job's launcher, which can reattach once the job is
  // persisted.
  std::string token;
  // Failures of processes that were not reported to the spawner's job yet,
  // except those that the end of the job itself has caused. Only the last
  // failure of a rank is kept.
  std::map<Rank, core::ProcExit> failures;
  // True while this agent knows for certain that no process of the job has been
  // started.
  bool prepares = false;
  // The agent that controls the job; kNoNode: this agent.
  NodeId controller = kNoNode;

  const std::string& parent() const { return job->parent.nspace; }
};

using JobRecords = std::map<std::string, JobRecord>;

// A process of a job, or a tool, that spawns jobs.
struct Spawner : ProcId {
  // Set for a tool whose user is not the agents'.
  std::optional<core::Owner> owner = std::nullopt;
};

using PlannedJob = Result<std::shared_ptr<const JobSpec>>;

// The limits of each user on an overlay: for the number of jobs that run or are
// queued, and for the processes that these jobs have together.
struct UserLimits {
  uint64_t jobs = 2048;
  uint64_t procs = 65536;
};

// Functions of the agent for spawns that add hosts to the overlay.
struct HostPlanner {
  // Returns the hosts that the call adds and that are no members. Fails like
  // JobPlanner::spawn for a hostfile that cannot be read.
  std::function<Result<std::vector<Host>>(const spawn::SpawnCall& call,
                                          const ProcId& spawner)>
      missing;
  // Performs Control.AddNodes for a launcher of this overlay. `remote` is true
  // if a node is on another machine.
  std::function<Result<v1::AddNodesReply>(const v1::AddNodesRequest& request,
                                          bool remote)>
      add;
  // Removes members that `add` has made.
  std::function<void(const std::vector<NodeId>& nodes)> remove;
  // Returns true if the agent of the member is up.
  std::function<bool(NodeId node)> is_up;
};

// Functions and values of the agent that the control service uses. The
// functions that map jobs return the reason, in one line, if a job cannot be
// mapped.
struct JobPlanner {
  // As JobCommandsPort::DrainNode; with an empty reason, the node accepts jobs
  // again.
  std::function<Status(const std::string& name, const std::string& reason)>
      drain;
  // Writes a line to the agent's log.
  std::function<void(const std::string& text)> warn;
  // The path of canopy-stacks on each node.
  std::string stacks_program;
  // Returns a name that no job of the overlay has had.
  std::function<std::string()> new_name;
  // Maps the job of a request, which runs as the caller. The job gets the name
  // in `placed`, or that of its request if `placed` has none.
  std::function<PlannedJob(const JobRequest& request, const Caller& caller,
                           const Placed& placed)>
      launch;
  // Maps a job to be spawned. `spawner` is a process of a known job, or a tool.
  std::function<PlannedJob(const spawn::SpawnCall& call, const Spawner& spawner,
                           const Placed& placed)>
      spawn;
  // Returns null if the topology of that agent's node is unknown.
  std::function<std::shared_ptr<const Topology>(NodeId agent)> topology;
  // Replaces relative entries of a list of hosts by names. `spawner` is the job
  // of the spawner, or empty for a launcher's request. The entry "+e" is
  // replaced only if `empty`.
  std::function<Status(const std::string& spawner, bool empty,
                       std::vector<Host>* hosts)>
      name_hosts;
  // Returns the limits of each user. Null: the defaults.
  std::function<UserLimits()> limits = {};
  HostPlanner hosts = {};
  // Returns whether new jobs are launched at this agent. Null: they are.
  std::function<bool()> leads = {};
  // The agents run as root and start the jobs of all users.
  bool serves_all_users = false;
};

// Persists what a successor needs so that a job's launcher can reattach.
class LaunchPersistence {
 public:
  virtual ~LaunchPersistence() = default;
  // Persists a launch. `token` identifies the launcher of the job or of its
  // family. The error states for the job's user why the job was not persisted.
  virtual Status PersistLaunch(const JobSpec& job, const std::string& token,
                               const LaunchFacts& facts) = 0;
  // Replaces the facts that were given to PersistLaunch.
  virtual void PersistFacts(const std::string& nspace,
                            const LaunchFacts& facts) = 0;
  // Persists how much output of a job with host_output is in its files, in
  // place of the earlier state.
  virtual void PersistOutput(const std::string& nspace,
                             const std::string& state) = 0;
  // Persists the end of a job. `end` is an encoded JobEnd.
  virtual void PersistEnd(const std::string& nspace,
                          const std::string& end) = 0;
  // Removes everything that was persisted of a job.
  virtual void DropControl(const std::string& nspace) = 0;
};

// A job as LaunchPersistence has stored it.
struct PersistedJob {
  std::shared_ptr<const JobSpec> job;
  std::string token;
  LaunchFacts facts;
  int64_t since = 0;               // EventLoop::Now() of the launch
  std::optional<std::string> end;  // set if the job is over
  std::string output;              // the state of PersistOutput, or empty
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_RECORD_H_
