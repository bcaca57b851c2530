// What one job is: its programs, its nodes and where each rank runs. Made once
// by the host that maps the job, sent once down the tree, and expanded by each
// agent; everything per rank is derived from it.
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
  std::vector<std::string> env;   // NAME=VALUE: set on top of the job's
  std::string cwd;                // working directory; empty: the job's
  uint32_t num_procs = 0;
  // Of an application with hosts of its own: the nodes that it may use, by
  // name, and the slots that they give it. Empty: the job's.
  std::vector<std::string> allocation = {};
  uint32_t slots = 0;
  // PMIX_PSET_NAME: the process set of all its processes; empty: none.
  std::string pset = {};
};

// One node of the job; its index is the job-relative node number, in order of
// the first rank mapped there.
struct JobNode {
  std::string name;                  // PMIX_HOSTNAME
  std::vector<std::string> aliases;  // other names of the same node
  NodeId agent = kNoNode;            // the agent that hosts it: PMIX_NODEID
  uint32_t slots = 0;                // of the allocation
  uint32_t first_node_rank = 0;      // PMIX_NODE_RANK of local rank 0
  uint32_t other_procs = 0;          // of other jobs, when this one was mapped
};

// Where one rank runs. Local, node, application ranks follow from the order of
// the ranks and are computed by JobLayout.
struct ProcPlacement {
  uint32_t node = 0;  // index in JobSpec::nodes
  uint32_t app = 0;   // index in JobSpec::apps
  // CPUs the rank is bound to, hwloc list format ("0-3,8"); empty: not bound.
  std::string cpuset;
};

// Another job of the session: as much of it as session-level data need.
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

// Whether our PMIx library is put in front of a program's own.
enum class Inject : uint8_t {
  kAuto,    // where the program lets its environment decide
  kAlways,  // also where it names a place of its own
  kNever,
};

// Channels of output (pmix_iof_channel_t): standard output, standard error and
// diagnostics.
inline constexpr uint16_t kAllOutput = 2 | 4 | 8;

// What of a job's output and input may be forwarded to and from whoever asks
// (PMIX_FWD_*), beside its launcher.
struct JobForwarding {
  uint16_t channels = 0;      // of output
  uint32_t cache_size = 0;    // bytes kept for who comes later; 0: the default
  bool keeps_oldest = false;  // of what exceeds that, the newest is dropped
  bool input = false;         // its input is pushed, and not its launcher's

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
  std::vector<std::string> allocation;  // the job's nodes, used by it or not
  uint32_t max_procs = 0;               // slots of these
  std::string map_by;                   // as applied, e.g. "slot", "ppr:2:node"
  std::string rank_by;
  std::string bind_to;
  bool oversubscribed = false;  // some node has more ranks than CPUs
  bool merge_stderr = false;    // stderr goes to the stdout stream
  StdinTarget stdin_target = StdinTarget::kRank;
  Rank stdin_rank = 0;
  uint32_t timeout_seconds = 0;  // 0: none
  Inject inject = Inject::kAuto;
  // PMIX_PARENT_ID of a spawned job; empty nspace: launched from outside.
  ProcId parent;
  // Seconds between SIGTERM and SIGKILL when the job is ended.
  uint32_t kill_grace_seconds = 2;
  // PMIX_NPROC_OFFSET: processes of the session's jobs before this one.
  Rank nproc_offset = 0;
  // Where processes of any node reach rank 0's: an address or a name. Given
  // when the ranks are to find each other as programs of torch.distributed do
  // (docs/torch.md), and then rank 0's node reserves a port for them.
  std::string rendezvous_host;
  // The session's other jobs that ran when this one was mapped.
  std::vector<SessionJob> others;
  // How often each rank whose process fails gets another one.
  uint32_t max_restarts = 0;
  // Processes that fail do not end the job.
  bool recoverable = false;
  // A process's argv[0] is NAME-RANK.
  bool index_argv = false;
  // The scheduler's own name of the job that it has placed; empty: none.
  std::string host_job;
  JobForwarding forwarding;
  JobDebug debug;
};

// JobSpec::max_restarts without a limit.
inline constexpr uint32_t kUnlimitedRestarts = UINT32_MAX;

// Compact binary form: runs of ranks with the same placement, one dictionary
// of CPU sets. Decode bounds every length by the bytes left and refuses an
// index outside its table with kErrUnpackFailure.
std::string EncodeJobSpec(const JobSpec& job);
// The same for an agent of release 0.1: without what that does not know and can
// do without.
std::string EncodeJobSpecForRelease01(const JobSpec& job);
Result<JobSpec> DecodeJobSpec(std::string_view bytes);

// Numbers that PMIx gives a rank and that follow from the whole map.
struct RankNumbers {
  uint32_t app_rank = 0;    // PMIX_APP_RANK
  uint16_t local_rank = 0;  // PMIX_LOCAL_RANK, among the job's on its node
  uint16_t node_rank = 0;   // PMIX_NODE_RANK
};

// Look-ups over a JobSpec, built once in O(ranks). Immutable afterwards, so
// any thread may read it.
class JobLayout {
 public:
  explicit JobLayout(const JobSpec& job);

  const RankNumbers& numbers(Rank rank) const { return numbers_[rank]; }
  // Ranks on a node (job-relative index), ascending.
  const std::vector<Rank>& ranks_on(uint32_t node) const {
    return node_ranks_[node];
  }
  const std::vector<Rank>& ranks_of_app(uint32_t app) const {
    return app_ranks_[app];
  }
  // Job-relative index of the node that an agent hosts; kNoNode when none.
  uint32_t node_of_agent(NodeId agent) const;
  // Ranks on that node, ascending.
  const std::vector<Rank>& ranks_of_agent(NodeId agent) const;
  // Lowest rank of an application, kRankInvalid when it has none.
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
