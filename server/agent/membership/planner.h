// Turns requests to launch into mapped jobs.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/job.h"
#include "common/job_request.h"
#include "common/status.h"
#include "hostmodule/bookings.h"
#include "hostmodule/map_node.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/membership/membership.h"
#include "server/control/caller.h"
#include "server/control/job_record.h"
#include "server/spawn/spawn_call.h"

namespace canopy::agent {

// Loop thread only.
class Planner {
 public:
  // `session_id` is PMIX_SESSION_ID, which is the same at every member of the
  // overlay.
  Planner(const bootstrap::v1::Members& members, NodeId self,
          uint32_t session_id);

  // Sets the description of a member, or adds the next member.
  void SetNode(NodeId node, const bootstrap::v1::NodeInfo& info);

  // Returns a new name for a job. The name is its namespace.
  std::string NewNspace();

  // Maps a job of the caller, which gets the name of its request. Lost members
  // take no processes. If nodes were granted by name, the job gets only these
  // nodes and slots; otherwise the jobs of `jobs` that are not tools occupy
  // slots of their nodes. An error has its reason in one line.
  Result<std::shared_ptr<const JobSpec>> Plan(JobRequest request,
                                              const control::Caller& caller,
                                              const control::Placed& placed,
                                              const control::JobRecords& jobs,
                                              const Membership& membership);
  // Maps a job that `spawner` spawns, and gives it a new name. The spawner is a
  // process of one of `jobs`, or a tool.
  Result<std::shared_ptr<const JobSpec>> PlanSpawn(
      const spawn::SpawnCall& call, const control::Spawner& spawner,
      const control::Placed& placed, const control::JobRecords& jobs,
      const Membership& membership);

  // Returns the hosts that a call of `spawner` adds and that are no members. An
  // error has its reason in one line.
  static Result<std::vector<Host>> MissingHosts(const spawn::SpawnCall& call,
                                                const ProcId& spawner,
                                                const control::JobRecords& jobs,
                                                const Membership& membership);

  // Replaces relative entries of a user's list of hosts by names, so that they
  // do not depend on the nodes that the job is granted. "+nK" becomes the node
  // with the number K in the overlay or, for a job that a process of `spawner`
  // spawns, in the spawner's allocation. With `empty`, "+e" becomes the nodes
  // that have no processes now.
  Status NameHosts(const std::string& spawner, bool empty,
                   const control::JobRecords& jobs,
                   const Membership& membership,
                   std::vector<Host>* hosts) const;

  // Whether jobs may get nodes whose agents do not answer now.
  enum class Away { kLeftOut, kIncluded };

  // Returns the error with which the mapping of the request would fail if these
  // jobs ran. Called only for requests without a grant.
  Status Fits(const JobRequest& request, const control::JobRecords& jobs,
              const Membership& membership, Away away) const;

  // Returns null if the agent could not determine the topology of its node.
  std::shared_ptr<const Topology> TopologyOf(NodeId agent) const;

 private:
  // The resources that processes occupy on one machine.
  struct Booking {
    std::vector<host::BoundProc> bound;
    uint32_t unbound_procs = 0;  // without processes of tools
    std::vector<std::string> gpus;
    uint64_t memory = 0;  // bytes
  };
  using Bookings = std::map<std::string, Booking>;  // by host::MachineKey

  // Returns the nodes that take processes, and which of their resources are
  // occupied: the slots of `partners`, and the CPUs and GPUs that `jobs` use.
  // Tools occupy no slots.
  std::vector<host::MapNode> Nodes(const control::JobRecords& partners,
                                   const control::JobRecords& jobs,
                                   const Membership& membership,
                                   Away away = Away::kLeftOut) const;
  // Returns the nodes for a request without a grant. `parent` is the job of its
  // spawner, or null if it has none.
  std::vector<host::MapNode> FreeNodes(const JobRequest& request,
                                       const JobSpec* parent,
                                       const control::JobRecords& jobs,
                                       const Membership& membership) const;
  // Returns all nodes of the overlay or, if `spawner` is a job, the nodes of
  // its allocation, in their order. A node that takes no processes counts as in
  // use.
  std::vector<host::MapNode> AllNodes(const std::string& spawner,
                                      const control::JobRecords& jobs,
                                      const Membership& membership) const;
  // Adds the processes of a job to the machines on which they run.
  void Book(const control::JobRecord& record, Bookings* bookings) const;
  // Returns the granted nodes. Returns kErrJobAllocFailed if a granted node
  // cannot be used.
  Result<std::vector<host::MapNode>> GrantedNodes(
      const control::Placed& placed, const control::JobRecords& jobs,
      const Membership& membership) const;
  static void GiveSlots(const JobSpec& parent,
                        std::vector<host::MapNode>* nodes);
  Result<JobSpec> Map(const std::vector<host::MapNode>& nodes,
                      JobRequest request, const control::Placed& placed,
                      const control::JobRecords& jobs,
                      const Membership& membership);

  std::string HostOfRank0(const JobSpec& job) const;
  Rank TakeOffset(size_t procs, const std::vector<const JobSpec*>& running);

  std::vector<host::MapNode> nodes_;
  std::vector<std::string> hosts_;  // by NodeId
  NodeId self_;
  const uint32_t session_id_;
  const uint32_t instance_;  // differs from the predecessor's, for new names
  uint32_t next_job_ = 1;
  Rank next_offset_ = 0;  // counts the session's processes
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_
