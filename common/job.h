// One job: its request (JobRequest), and the place of each rank (JobMap). The
// agent that maps the job makes both together, the JobSpec, once. The JobSpec
// is sent down the tree once and expanded by each agent, which derives all data
// of ranks from it.
#ifndef CANOPY_COMMON_JOB_H_
#define CANOPY_COMMON_JOB_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/job_debug.h"
#include "common/job_request.h"
#include "common/status.h"

namespace canopy {

// One node of the job; its index is the job-relative node number, in order of
// the first rank mapped there.
struct JobNode {
  std::string name;                  // PMIX_HOSTNAME
  std::vector<std::string> aliases;  // other names of the same node
  // The agent that hosts the node: PMIX_NODEID.
  NodeId agent = kNoNode;
  uint32_t slots = 0;            // slots in the allocation
  uint32_t first_node_rank = 0;  // PMIX_NODE_RANK of local rank 0
  uint32_t other_procs = 0;      // other jobs' processes at the mapping
  // Variables NAME=VALUE for the node's processes, from the scheduler. They
  // override the variables of the job.
  std::vector<std::string> env = {};
};

// Where one rank runs. Local, node and application ranks follow from the order
// of the ranks; JobLayout computes them.
struct ProcPlacement {
  uint32_t node = 0;  // index in JobMap::nodes
  uint32_t app = 0;   // index in JobRequest::apps
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

// The nodes that an application with hosts of its own may use.
struct AppNodes {
  std::vector<std::string> names;  // empty: the application has the job's nodes
  uint32_t slots = 0;              // slots that these nodes provide
};

// Where the ranks of a job run: the mapper's answer to a JobRequest.
struct JobMap {
  std::vector<JobNode> nodes;
  std::vector<ProcPlacement> procs;     // index = rank
  std::vector<std::string> allocation;  // names of nodes, also unused nodes
  uint32_t universe_size = 0;           // slots of the session
  uint32_t max_procs = 0;               // slots of the allocation
  std::string map_by;                   // as applied, e.g. "slot", "ppr:2:node"
  std::string rank_by;
  std::string bind_to;
  // Why the mapper did not bind the processes, for the launcher.
  std::string unbound_reason;
  bool oversubscribed = false;  // some node has more ranks than CPUs
  // PMIX_CPUS_PER_PROC; 0: neither the user nor the spawner has named a number.
  uint32_t cpus_per_proc = 0;
  // Index = application; may have fewer entries than there are applications.
  std::vector<AppNodes> app_nodes;
  // Index = rank: its GPUs, as JoinGpus writes them (common/gpu.h). Empty if
  // the job has none.
  std::vector<std::string> gpus;
};

// A job as the agents have it. `cmd` and `num_procs` of its applications have
// values; everything else of the request is unchanged.
struct JobSpec : JobRequest, JobMap {
  std::string nspace;
  uint32_t session_id = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  // The name of `uid`. A node on which it is the name of another user, or of
  // none, does not start the job. Empty: the agents' own user.
  std::string user;
  // PMIX_PARENT_ID of a spawned job. The namespace is empty for a job of a
  // launcher.
  ProcId parent;
  // PMIX_NPROC_OFFSET: processes of the session's jobs before this one.
  Rank nproc_offset = 0;
  // An address or name at which processes of any node reach rank 0's node. It
  // is set for a job with `torch_env`; rank 0's node reserves a port for it.
  std::string rendezvous_host;
  // The session's other jobs that ran when this job was mapped.
  std::vector<SessionJob> others;
  // The name that the scheduler gave the job, or empty if it has none.
  std::string host_job;
};

// Returns the job of a request and its map. The caller sets the namespace and
// all other members that follow from neither of them.
JobSpec MakeJob(JobRequest request, JobMap map);

// Encodes the job in a compact form: fields with numbers (describe.h), runs of
// ranks with the same placement, one dictionary of CPU sets. DecodeJobSpec
// bounds every length by the bytes left and rejects an index outside its table
// with kErrUnpackFailure.
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
