// Turns a launch request into a mapped job.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/job.h"
#include "common/status.h"
#include "hostmodule/map_request.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/agent/membership/membership.h"
#include "server/control/job_record.h"
#include "server/spawn/spawn_call.h"

namespace canopy::agent {

// Loop thread only.
class Planner {
 public:
  // `session_id`: PMIX_SESSION_ID, the same at every member of the overlay.
  Planner(const bootstrap::v1::Members& members, NodeId self,
          uint32_t session_id);

  // A name for a job, which is its namespace.
  std::string NewNspace();

  // A job that has the name of its request, or in one line why there is none.
  // Lost members take no processes. Where nodes were granted by name, it gets
  // these and their slots alone; else `jobs` that are no tools use slots of the
  // nodes they run on.
  Result<std::shared_ptr<const JobSpec>> Plan(const control::v1::Launch& launch,
                                              const control::Placed& placed,
                                              const control::JobRecords& jobs,
                                              const Membership& membership);
  // The same, with a new name, of a job that `spawner`, of one of `jobs`,
  // spawns.
  Result<std::shared_ptr<const JobSpec>> PlanSpawn(
      const spawn::SpawnCall& call, const ProcId& spawner,
      const control::Placed& placed, const control::JobRecords& jobs,
      const Membership& membership);

 private:
  std::vector<host::MapNode> Nodes(const control::JobRecords& jobs,
                                   const Membership& membership) const;
  // kErrJobAllocFailed: one of them cannot be used.
  Result<std::vector<host::MapNode>> GrantedNodes(
      const control::Placed& placed, const control::JobRecords& jobs,
      const Membership& membership) const;
  static void GiveSlots(const JobSpec& parent,
                        std::vector<host::MapNode>* nodes);
  Result<JobSpec> Map(std::vector<host::MapNode> nodes,
                      host::MapRequest request, const control::JobRecords& jobs,
                      const Membership& membership);

  std::string HostOfRank0(const JobSpec& job) const;
  Rank TakeOffset(size_t procs, const std::vector<const JobSpec*>& running);

  std::vector<host::MapNode> nodes_;
  std::vector<std::string> hosts_;  // by NodeId
  NodeId self_;
  const uint32_t session_id_;
  const uint32_t instance_;  // tells its namespaces from a predecessor's
  uint32_t next_job_ = 1;
  Rank next_offset_ = 0;  // of the session's processes
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_PLANNER_H_
