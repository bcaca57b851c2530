// Decides where and when jobs run, and gets notifications about these jobs.
// Loop thread only.
#ifndef CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_
#define CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/cpuset.h"
#include "common/ids.h"
#include "common/job_request.h"
#include "common/status.h"
#include "server/core/step/control_actions.h"

namespace canopy {

// Identifies one decision about a request to run a job, until the request ends.
struct PlacementId {
  std::string request;   // 1 to 255 bytes of printable text
  uint32_t attempt = 1;  // grows when the same job must be placed again

  auto operator<=>(const PlacementId&) const = default;
};

struct PlacementCaller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::optional<ProcId> process;  // unset for a launcher
  std::string host_job;  // the host's name of the caller's job; empty: none
};

struct PlacementRequest {
  PlacementId id;
  PlacementCaller caller;
  JobRequest job;
  uint32_t num_slots = 0;  // 0: as many as possible
  int64_t give_up = 0;     // in terms of EventLoop::Now(); 0: never
  int64_t since_ms = 0;    // milliseconds since 1970
  // Set only for a spawn: the job's infos in codec form (SIZE n, then n INFO),
  // followed by data that is ignored.
  Bytes directives;
  std::string parent;  // namespace; empty: none
  bool again = false;  // may have been requested before
};

struct PlacementQueued {
  std::string reason;     // one line
  int64_t since_ms = 0;   // 0: since the request
  uint32_t position = 0;  // from 1; 0: unknown
};

struct GrantedNode {
  std::string name;
  uint32_t slots = 0;
  CpuSet cpus = {};                    // CPUs that the job may use; empty: all
  std::vector<std::string> gpus = {};  // GPUs, by GpuName; empty: all
  // NAME=VALUE; overrides the environment of the processes on this node.
  std::vector<std::string> env = {};
};

struct PlacementGrant {
  std::string host_job;
  // The nodes in the order in which they are filled. Empty: all nodes, with the
  // slots that other jobs leave.
  std::vector<GrantedNode> nodes;
  uint32_t time_limit_seconds = 0;  // 0: none
  // NAME=VALUE; overrides the processes' environment.
  std::vector<std::string> env;
};

// Methods are called from within calls of the port or later. Decisions about
// requests that are not pending are ignored.
class PlacementListener {
 public:
  virtual ~PlacementListener() = default;
  // The request waits. Called again when the reason or the position changes.
  virtual void OnQueued(const PlacementId& id,
                        const PlacementQueued& queued) = 0;
  // A placement ends with exactly one of these calls, unless it was cancelled.
  virtual void OnGranted(const PlacementId& id,
                         const PlacementGrant& grant) = 0;
  virtual void OnRefused(const PlacementId& id, const Status& why) = 0;
};

struct NodeUse {
  std::string name;
  uint32_t procs = 0;
  uint32_t slots = 0;  // slots of the grant
  // The CPUs to which the job's processes are bound, and their GPUs by GpuName.
  CpuSet cpus = {};
  std::vector<std::string> gpus = {};
};

// A job whose grant lists its nodes.
struct PlacedJob {
  PlacementId id;
  std::string host_job;
  std::string nspace;  // empty: the job failed before it was mapped
  PlacementCaller caller;
  std::string parent;
  std::string command;  // for display
  std::vector<NodeUse> nodes;
  uint32_t num_procs = 0;
  int64_t queued_ms = 0;            // milliseconds since 1970
  int64_t started_ms = 0;           // milliseconds since 1970; 0: never
  uint32_t time_limit_seconds = 0;  // from the start; 0: none
  bool suspended = false;
  std::string name;  // for people; empty: none
  SchedulerHints hints = {};
};

struct PlacedEnd {
  int exit_code = 0;
  int status = 0;
  std::string text;
  int64_t ended_ms = 0;  // milliseconds since 1970
  // True if no other job uses what was granted for this placement.
  bool last = true;
  core::JobUsage used = {};  // usage of the ranks whose usage is known
};

class PlacementPort {
 public:
  virtual ~PlacementPort() = default;
  // Sets the listener, before the first Place. It must outlive the port's
  // calls.
  virtual void set_listener(PlacementListener* listener) = 0;

  // Returns true if the port honours the directives of requests, or might.
  virtual bool HeedsDirectives() const = 0;
  // Requests a placement. The listener gets one OnGranted or OnRefused, unless
  // the placement is cancelled first.
  virtual void Place(PlacementRequest request) = 0;
  // Withdraws a request. No effect if it is not pending.
  virtual void Cancel(const PlacementId& id) = 0;
  // Called when a job of any kind has ended.
  virtual void SlotsFreed() {}

  // The following notifications concern jobs whose grants list their nodes.
  // `recovered` is true if a predecessor launched the job.
  virtual void Launched(const PlacedJob& job, bool recovered) = 0;
  // The job has reached a phase, or `procs_ended` of its processes have ended.
  virtual void Changed(const std::string& nspace, core::JobPhase phase,
                       uint32_t procs_ended) = 0;
  // The job's processes have been stopped, or continue.
  virtual void Suspended(const std::string& nspace, bool suspended) = 0;
  // The job has ended. Also called for a grant that was never used.
  virtual void Released(const PlacedJob& job, const PlacedEnd& end) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PLACEMENT_PORT_H_
