// The request for one job, of a user, a process or a scheduler. The command
// line, PMIx_Spawn and a scheduler's commands fill this structure and nothing
// else; the mapper turns it into a JobMap (common/job.h), and both together are
// the job that every agent gets. So a property of a job is declared here once
// and described once, in common/job_description.h (docs/design/job_request.md).
#ifndef CANOPY_COMMON_JOB_REQUEST_H_
#define CANOPY_COMMON_JOB_REQUEST_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/ids.h"
#include "common/job_debug.h"

namespace canopy {

// One application (MPMD part) of a job; its index is its PMIX_APPNUM.
struct JobApp {
  // The program that is executed. Empty in a request: argv[0].
  std::string cmd;
  std::vector<std::string> argv;  // argv[0] is the program as the user typed it
  std::vector<std::string> env;   // NAME=VALUE, added to the job's
  std::string cwd;                // working directory; empty: the job's
  // In a request, 0 means as many as there is room for.
  uint32_t num_procs = 0;
  // PMIX_PSET_NAME: the process set of all its processes, or empty.
  std::string pset = {};
  // True if the stderr of its processes goes to their stdout stream, and their
  // stderr stream is empty. JobRequest::merge_stderr does this for the whole
  // job.
  bool merge_stderr = false;
  std::vector<Host> hosts = {};    // the nodes to use; empty: the job's
  bool preload_program = false;    // the program is copied to the nodes
  std::string preload_files = {};  // copied too; separated by commas
};

// Where the processes of a job may run.
struct JobPlaces {
  std::vector<Host> hosts;  // empty: every node
  // Policies in mpirun's notation; empty: the default.
  std::string map_by;
  std::string rank_by;
  std::string bind_to;
  bool oversubscribe = false;
  // True if no process runs on the node of the agent that maps the job.
  bool no_local = false;
  // True if the job runs beside other jobs: it ignores their slots, may have
  // more processes than slots unless `map_by` forbids that, and is bound only
  // if it requests a binding.
  bool tool = false;
  // PMIX_CPU_LIST: the CPUs of each node that the job may use; empty: all.
  std::string cpu_list;
  // True if the job waits, without a scheduler, until enough slots are free.
  bool waits = false;
  uint32_t gpus_per_proc = 0;  // GPUs of each process alone; 0: none
  // Bytes of memory that are booked for each process on its node; 0: none.
  uint64_t memory_per_proc = 0;
};

// A nice value, from -20 (most favourable) to 19.
struct NiceValue {
  int value = 0;

  auto operator<=>(const NiceValue&) const = default;
};

// The soft limit of a resource (RLIMIT_*). The shim lowers it to the hard limit
// that the process has on its node.
struct ResourceLimit {
  uint32_t resource = 0;
  uint64_t soft = 0;

  auto operator<=>(const ResourceLimit&) const = default;
};

// How each process is executed. The shim gets this part of the job unchanged.
struct ProcessPolicies {
  bool index_argv = false;                 // argv[0] is NAME-RANK
  std::optional<NiceValue> nice = {};      // no value: the agent's
  std::optional<uint64_t> umask = {};      // no value: the agent's
  std::vector<ResourceLimit> limits = {};  // other limits are the agent's
};

enum class StdinTarget : uint8_t { kNone, kRank, kAll };

// Whether Canopy's PMIx library is loaded instead of a program's own
// (docs/injection.md).
enum class Inject : uint8_t {
  kAuto,    // if the environment decides which library is loaded
  kAlways,  // even if the program names a path of its own
  kNever,
};

// Output channels (pmix_iof_channel_t): standard output, standard error and
// diagnostics.
inline constexpr uint16_t kAllOutput = 2 | 4 | 8;

// Which streams of a job may be forwarded to and from other requesters than its
// launcher (PMIX_FWD_*).
struct JobForwarding {
  uint16_t channels = 0;      // output that may be pulled
  uint32_t cache_size = 0;    // bytes kept for later pullers; 0: the default
  bool keeps_oldest = false;  // when the cache is full, drops the newest
  bool input = false;         // input is pushed; the launcher sends none

  auto operator<=>(const JobForwarding&) const = default;
};

// The notifications about a job's life: events for its spawner, or text for the
// launcher of its family. Bits can be combined.
enum JobReports : uint32_t {
  kNotifyJobEvents = 1 << 0,   // start and end
  kNotifyCompletion = 1 << 1,  // end
  kNotifyProcs = 1 << 2,       // every end of a process
  kNotifyFailedProcs = 1 << 3,
  kLogJobEvents = 1 << 4,
  kLogCompletion = 1 << 5,
  kLogProcs = 1 << 6,
  kLogFailedProcs = 1 << 7,
  kSilentEnd = 1 << 8,  // a successful end of the job is not reported
  // On a timeout the launcher gets the states of the job's processes, or their
  // stacks, before the job ends.
  kTimeoutStates = 1 << 9,
  kTimeoutStacks = 1 << 10,
};

// The value of JobRequest::max_restarts that means no limit.
inline constexpr uint32_t kUnlimitedRestarts = UINT32_MAX;

// A priority among the jobs of a scheduler; its scale is the scheduler's.
struct JobPriority {
  int value = 0;

  auto operator<=>(const JobPriority&) const = default;
};

// The user's requests to the scheduler. Only the scheduler knows their meaning.
// An overlay without a scheduler refuses a job that has any.
struct SchedulerHints {
  std::string queue;
  std::string account;
  std::optional<JobPriority> priority = {};
  std::vector<std::string> others = {};  // NAME=VALUE, each name once

  bool any() const {
    return !queue.empty() || !account.empty() || priority.has_value() ||
           !others.empty();
  }
};

struct JobRequest {
  // Applications.
  std::vector<JobApp> apps;
  std::vector<std::string> env;  // base environment of every process
  std::string cwd;               // default working directory
  std::string name;              // for people; empty: none

  JobPlaces places;
  ProcessPolicies process;
  Inject inject = Inject::kAuto;
  // True if the ranks find each other as programs of torch.distributed do
  // (docs/torch.md).
  bool torch_env = false;

  // Streams.
  bool merge_stderr = false;  // stderr goes to the stdout stream
  StdinTarget stdin_target = StdinTarget::kRank;
  Rank stdin_rank = 0;
  JobForwarding forwarding;

  // Failures.
  uint32_t timeout_seconds = 0;  // 0: none
  // Seconds between SIGTERM and SIGKILL when the job is ended.
  uint32_t kill_grace_seconds = 2;
  // How many times each rank may be restarted after its process fails.
  uint32_t max_restarts = 0;
  // True if processes that fail do not end the job.
  bool recoverable = false;
  uint32_t reports = 0;  // bits of JobReports

  // Debugging.
  JobDebug debug;
  // Set if the processes are daemons of a debugger, which determines their
  // number and nodes.
  std::optional<DebugDaemons> daemons;

  SchedulerHints hints;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_REQUEST_H_
