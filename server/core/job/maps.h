// Maps of jobs in which this agent takes no part. Local clients refer to some
// of these jobs, whose maps are requested from the root. In other jobs, this
// agent took part while it forwarded messages between other agents. The root
// and the leader get the maps of all other jobs from the agents that control
// them. A map is released when its job is over.
#ifndef CANOPY_SERVER_CORE_JOB_MAPS_H_
#define CANOPY_SERVER_CORE_JOB_MAPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Both sides of JobMapRequest: the agent that borrows a map, and the root that
// supplies it. Invariant: a borrowed map has a living lender, which reports the
// end of the job; when the lender is lost, the map is dropped. Tree and job
// table outlive this object. Not synchronised.
class JobMaps final : public Engine {
 public:
  JobMaps(NodeId self, const Tree& tree, JobTable& jobs);

  // Requests the job's map. Later either the map is added to the table, or a
  // MapUnknown with the job's name is posted.
  void Want(const StepContext& step, const std::string& nspace);
  // The facts of a job that accompany its map: the agents that were lost with
  // their ranks, and the agent that controls the job.
  struct Facts {
    std::vector<NodeId> lost;
    NodeId controller = kNoNode;
  };
  // Handles the request of another agent for a map. `facts` concern the job, if
  // it is known.
  void OnRequest(const StepContext& step, NodeId src,
                 const JobMapRequest& request, Facts facts);
  void OnReply(NodeId src, const JobMapReply& reply);
  // Sends the map of a job that this agent controls to another agent, which is
  // notified of the job's end later. The same map may be sent again.
  void Offer(const StepContext& step, const std::string& nspace, NodeId to,
             std::vector<NodeId> lost);
  // Handles an unrequested map of a job that `src` controls. Does nothing if
  // this agent has the map of another controller.
  void OnOffered(const StepContext& step, NodeId src, const JobMapReply& reply);
  // Handles a map that `src` has sent unrequested. `src` will report the job's
  // end.
  void OnLent(NodeId src, const std::string& nspace, const Bytes& spec);
  // Records that the map, which is in the table, is borrowed from now on. The
  // lender either reports the end of the job later, or replies that the job is
  // over already.
  void Keep(const StepContext& step, const std::string& nspace, NodeId lender);
  // Handles the report of `src` that the job is over. Ignores it unless `src`
  // supplied the map or got the request for it.
  void OnForget(NodeId src, const std::string& nspace);
  // Called before this agent takes part in the job. The job's map is not
  // borrowed from then on.
  void OnPrepare(const Bytes& spec);
  // Notifies the agents that have borrowed the map that the job is over.
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  void OnTreeChanged(const StepContext& step) override;
  // Called when `node` has a successor agent, which has none of its
  // predecessor's messages.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  // Queries the lenders of borrowed maps whether the jobs still exist, because
  // a message about their end may be lost with the node.
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;
  void Count(ResourceCounts* counts) const override {
    counts->map_requests = num_requests();
  }

  size_t num_requests() const { return asked_.size(); }

 private:
  struct Ask {
    uint64_t request = 0;
    NodeId node = kNoNode;
    TimeNs deadline = kNever;
  };
  struct Loan {
    NodeId lender = kNoNode;
    uint64_t check = 0;  // number of the last exists_only request; 0: none
  };

  // Returns whether another agent is the root, which knows all jobs.
  bool HasOtherRoot() const;
  void CheckAll(const StepContext& step);
  void DropLost(const StepContext& step);
  void Send(const StepContext& step, const std::string& nspace, Ask* ask);
  void Check(const StepContext& step, const std::string& nspace, Loan* loan);
  void OnCheckReply(NodeId src, const JobMapReply& reply);
  bool Borrow(NodeId src, const std::string& nspace, const Bytes& spec,
              NodeId controller);
  bool TakeOffer(const StepContext& step, NodeId src, const JobMapReply& reply);
  void MarkLost(const std::string& nspace, const std::vector<NodeId>& lost);
  void Forget(const std::string& nspace);

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  std::map<std::string, Ask> asked_;
  std::map<std::string, Loan, std::less<>> borrowed_;
  std::set<std::string> offered_;  // the jobs that their controllers offered
  uint64_t next_request_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_MAPS_H_
