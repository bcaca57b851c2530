// Describes one job: its programs, its nodes and where each rank runs. The host
// that maps the job makes the description once. It is sent down the tree once
// and expanded by each agent, which derives everything per rank from it.
#ifndef CANOPY_COMMON_JOB_H_
#define CANOPY_COMMON_JOB_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/job_debug.h"
#include "common/status.h"

namespace canopy {

// One application (MPMD part) of a job; its index is its PMIX_APPNUM.
struct JobApp {
  std::string cmd;                // program as the user typed it
  std::vector<std::string> argv;  // argv[0] included
  std::vector<std::string> env;   // NAME=VALUE, added to the job's
  std::string cwd;                // working directory; empty: the job's
  uint32_t num_procs = 0;
  // For an application with hosts of its own: the names of the nodes that it
  // may use, and the slots that they provide. Empty: the job's nodes.
  std::vector<std::string> allocation = {};
  uint32_t slots = 0;
  // PMIX_PSET_NAME: the process set of all its processes, or empty.
  std::string pset = {};
  // The stderr of its processes goes to their stdout stream, and their stderr
  // stream has nothing. Of the whole job: JobSpec::merge_stderr.
  bool merge_stderr = false;
};

// One node of the job; its index is the job-relative node number, in order of
// the first rank mapped there.
struct JobNode {
  std::string name;                  // PMIX_HOSTNAME
  std::vector<std::string> aliases;  // other names of the same node
  NodeId agent = kNoNode;            // the agent that hosts it: PMIX_NODEID
  uint32_t slots = 0;                // in the allocation
  uint32_t first_node_rank = 0;      // PMIX_NODE_RANK of local rank 0
  uint32_t other_procs = 0;          // of other jobs, at mapping time
};

// Where one rank runs. Local, node and application ranks follow from the order
// of the ranks; JobLayout computes them.
struct ProcPlacement {
  uint32_t node = 0;  // index in JobSpec::nodes
  uint32_t app = 0;   // index in JobSpec::apps
  // CPUs to which the rank is bound, in hwloc's list format ("0-3,8"). Empty:
  // not bound.
  std::string cpuset;
};

// Another job of the session, as far as session-level data need it.
struct SessionJob {
  // Consecutive ranks on one node.
  struct Run {
    NodeId agent = kNoNode;
    uint32_t count = 0;
  };
  std::string nspace;
  Rank nproc_offset = 0;
  std::vector<Run> runs;  // from rank 0 on
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
  uint16_t channels = 0;      // of output
  uint32_t cache_size = 0;    // bytes kept for later pullers; 0: the default
  bool keeps_oldest = false;  // when the cache is full, drops the newest
  bool input = false;         // input is pushed, not from the launcher

  auto operator<=>(const JobForwarding&) const = default;
};

struct JobSpec {
  std::string nspace;
  uint32_t session_id = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<JobApp> apps;
  std::vector<JobNode> nodes;
  std::vector<ProcPlacement> procs;     // index = rank
  std::vector<std::string> env;         // base environment of every process
  std::string cwd;                      // default working directory
  uint32_t universe_size = 0;           // slots of the session
  std::vector<std::string> allocation;  // names of nodes, also unused ones
  uint32_t max_procs = 0;               // slots of the allocation
  std::string map_by;                   // as applied, e.g. "slot", "ppr:2:node"
  std::string rank_by;
  std::string bind_to;
  // Why the mapper did not bind the processes, for the launcher; not encoded.
  std::string unbound_reason;
  bool oversubscribed = false;  // some node has more ranks than CPUs
  bool merge_stderr = false;    // stderr goes to the stdout stream
  StdinTarget stdin_target = StdinTarget::kRank;
  Rank stdin_rank = 0;
  uint32_t timeout_seconds = 0;  // 0: none
  Inject inject = Inject::kAuto;
  // PMIX_PARENT_ID of a spawned job. The namespace is empty for a job of a
  // launcher.
  ProcId parent;
  // Seconds between SIGTERM and SIGKILL when the job is ended.
  uint32_t kill_grace_seconds = 2;
  // PMIX_NPROC_OFFSET: processes of the session's jobs before this one.
  Rank nproc_offset = 0;
  // An address or name at which processes of any node reach rank 0's node. It
  // is set if the ranks are to find each other as programs of torch.distributed
  // do (docs/torch.md); then rank 0's node reserves a port for them.
  std::string rendezvous_host;
  // The session's other jobs that ran when this job was mapped.
  std::vector<SessionJob> others;
  // How many times each rank may be restarted after its process fails.
  uint32_t max_restarts = 0;
  // True if processes that fail do not end the job.
  bool recoverable = false;
  // True if a process's argv[0] is NAME-RANK.
  bool index_argv = false;
  // The name that the scheduler gave the job, or empty if it has none.
  std::string host_job;
  JobForwarding forwarding;
  JobDebug debug;
  // PMIX_CPUS_PER_PROC; 0: neither the user nor the spawner has named a number.
  uint32_t cpus_per_proc = 0;
  // PMIX_CPU_LIST: the CPUs of each node that the job may use; empty: all.
  std::string cpu_list;
};

// The value of JobSpec::max_restarts that means no limit.
inline constexpr uint32_t kUnlimitedRestarts = UINT32_MAX;

// Encodes the job in a compact form: fields with numbers (describe.h), runs of
// ranks with the same placement, one dictionary of CPU sets. DecodeJobSpec bounds
// every length by the bytes left and rejects an index outside its table with
// kErrUnpackFailure.
std::string EncodeJobSpec(const JobSpec& job);
Result<JobSpec> DecodeJobSpec(std::string_view bytes);

// Numbers that PMIx gives a rank and that follow from the whole map.
struct RankNumbers {
  uint32_t app_rank = 0;    // PMIX_APP_RANK
  uint16_t local_rank = 0;  // PMIX_LOCAL_RANK: in this job, on its node
  uint16_t node_rank = 0;   // PMIX_NODE_RANK
};

// Look-ups over a JobSpec, built once in O(ranks). Immutable afterwards, so any
// thread may read it.
class JobLayout {
 public:
  explicit JobLayout(const JobSpec& job);

  const RankNumbers& numbers(Rank rank) const { return numbers_[rank]; }
  // Returns the ranks on a node (job-relative index), in ascending order.
  const std::vector<Rank>& ranks_on(uint32_t node) const {
    return node_ranks_[node];
  }
  const std::vector<Rank>& ranks_of_app(uint32_t app) const {
    return app_ranks_[app];
  }
  // Returns the job-relative index of the node that an agent hosts, or kNoNode.
  uint32_t node_of_agent(NodeId agent) const;
  // Returns the ranks on the agent's node, in ascending order.
  const std::vector<Rank>& ranks_of_agent(NodeId agent) const;
  // Returns the lowest rank of an application, or kRankInvalid if it has none.
  Rank app_leader(uint32_t app) const;

 private:
  struct AgentNode {
    NodeId agent;
    uint32_t node;
    auto operator<=>(const AgentNode&) const = default;
  };

  std::vector<RankNumbers> numbers_;
  std::vector<std::vector<Rank>> node_ranks_;
  std::vector<std::vector<Rank>> app_ranks_;
  std::vector<AgentNode> nodes_by_agent_;  // ascending
};

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_H_
