// The input of the mapper: the job as its user described it, and the available
// nodes.
#ifndef CANOPY_HOSTMODULE_MAP_REQUEST_H_
#define CANOPY_HOSTMODULE_MAP_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/job_debug.h"
#include "common/topology.h"
#include "hostmodule/bookings.h"

namespace canopy::host {

// A node of the overlay that may get processes.
struct MapNode {
  std::string name;
  std::vector<std::string> aliases;
  NodeId agent = kNoNode;
  uint32_t slots = 0;         // processes it may get without oversubscription
  uint32_t slots_in_use = 0;  // slots in use by other jobs
  // Null if the agent could not determine it; nothing is bound there then.
  std::shared_ptr<const Topology> topology;
  // Nodes with the same text (not empty) are emulated on one machine and share
  // its CPUs.
  std::string machine;
  // Processes of other jobs on the machine, without tools that are not bound.
  std::vector<BoundProc> bound;
  uint32_t unbound_procs = 0;
};

// One entry of --host or of a hostfile, in the given order: a name or alias,
// "+nK" (the K-th node), "+e" (nodes without a process) or "+any" (nodes, first
// those with free slots). Of the last two, `slots` is the number of nodes, by
// default all of them.
struct MapHost {
  std::string name;
  uint32_t slots = 0;
  bool slots_given = false;
};

struct MapApp {
  std::vector<std::string> argv;  // argv[0]: the program as typed
  std::vector<std::string> env;   // NAME=VALUE, overrides the job's
  std::string cwd;                // empty: the job's
  uint32_t num_procs = 0;         // 0: as many as there is room for
  std::vector<MapHost> hosts;     // empty: the job's
  std::string pset = {};          // process set of its processes; empty: none
  // Whether stderr of the application goes to its stdout stream although that
  // of the job does not.
  bool merge_stderr = false;
};

struct MapRequest {
  std::string nspace;
  uint32_t session_id = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<MapApp> apps;
  std::vector<std::string> env;  // NAME=VALUE of every process
  std::string cwd;
  std::vector<MapHost> hosts;  // empty: every node
  // mpirun spellings; empty: the default.
  std::string map_by;
  std::string rank_by;
  std::string bind_to;
  bool oversubscribe = false;
  // The job runs beside other jobs: their slots are ignored, more processes
  // than slots are no error unless `map_by` forbids them, and only an explicit
  // binding is applied.
  bool tool = false;
  bool no_local = false;         // no process on `local_agent`
  NodeId local_agent = kNoNode;  // the user's node
  uint32_t timeout_seconds = 0;
  bool merge_stderr = false;
  std::string stdin_target;         // "none", "all" or a rank; empty: rank 0
  uint32_t kill_grace_seconds = 0;  // 0: the default
  ProcId parent;                    // parent of a spawned job
  std::string inject;               // "auto", "always", "never"; empty: "auto"
  std::string cpu_list;             // CPUs that may be used; empty: all
  // As in JobSpec.
  uint32_t max_restarts = 0;
  bool recoverable = false;
  bool index_argv = false;
  JobForwarding forwarding;
  JobDebug debug;
};

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAP_REQUEST_H_
