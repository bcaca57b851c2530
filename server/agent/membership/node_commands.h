// Commands for the members of the overlay: adds, drains, resumes and removes
// nodes. Executed at the leader.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_NODE_COMMANDS_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_NODE_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/agent/membership/membership.h"
#include "server/control/job_record.h"
#include "server/overlay/frame.h"

namespace canopy::agent {

// Loop thread only. The errors are for the user of the command.
class NodeCommands {
 public:
  struct Parts {
    const bootstrap::v1::Config* config = nullptr;  // outlives the commands
    const Membership* membership = nullptr;         // likewise
    std::function<const control::JobRecords&()> jobs;
    // Publishes a decision; applies it to the membership before it returns
    // (TreeOverlay::Decide).
    std::function<Status(overlay::MemberRecord)> decide;
    // Returns bootstrap.Members.known for a new agent.
    std::function<std::string()> known;
    // Returns the time in milliseconds since 1970.
    std::function<int64_t()> now_ms;
    // Ends a job, for this reason, after this time.
    std::function<void(const std::string& nspace, const std::string& reason,
                       uint32_t seconds)>
        end_job;
  };
  explicit NodeCommands(Parts parts) : p_(std::move(parts)) {}

  // Implements Control.AddNodes. Returns kErrNotSupported if the agents end
  // with their launcher. Returns kErrUnreach if this agent is not the
  // leader, or if at least half of the members are lost. Returns kErrBadParam
  // for a malformed description or name. Returns kErrNotFound if a description
  // has an address, but its node is no member. Otherwise returns an error of
  // Parts::decide, or the reply.
  Result<control::v1::AddNodesReply> Add(
      const control::v1::AddNodesRequest& request);

  // Implements Control.DecideNodes. Returns kErrNotSupported and kErrUnreach as
  // Add does. Returns kErrNotFound for an unknown node, and kErrBadParam for an
  // unknown decision or if a removal would leave no node that is up. Without
  // `force`, returns kErrResourceBusy for the removal of a node that runs
  // processes of jobs or whose agent controls jobs; with `force`, for the drain
  // of a node with a job that another agent controls. Otherwise returns an
  // error of Parts::decide, or the reply.
  Result<control::v1::DecideNodesReply> Decide(
      const control::v1::DecideNodesRequest& request);

  // Implements the requests of launchers that add hosts for spawns of their
  // jobs. Fails like Add, but also serves agents that end with their launcher.
  Result<control::v1::AddNodesReply> AddForLauncher(
      const control::v1::AddNodesRequest& request);
  // Removes members that AddForLauncher has made. Members that cannot be
  // removed now stay members without an agent.
  void Withdraw(const std::vector<NodeId>& nodes);

  // Drains the node of this name, or lets it get jobs again if the reason is
  // empty. Returns kErrNotFound if there is no such node.
  Status Drain(const std::string& name, const std::string& reason);

 private:
  using Decision = control::v1::DecideNodesRequest;

  Status CheckEnds() const;
  Status CheckLeader() const;
  Status CheckName(const bootstrap::v1::NodeInfo& info) const;
  Status AddOne(const bootstrap::v1::NodeInfo& info,
                control::v1::AddedNode* added);
  bootstrap::v1::Config SharedConfig() const;
  Result<std::vector<NodeId>> Named(const Decision& request) const;
  Status MayRemove(const std::vector<NodeId>& nodes, bool force) const;
  Status Set(NodeId node, overlay::Service service, const std::string& reason);
  NodeId ControllerOf(const control::JobRecord& job) const;
  // Returns the names of the jobs that the node's agent controls.
  std::vector<std::string> ControlledBy(NodeId node) const;
  // Returns kErrResourceBusy if another agent controls one of the jobs, which
  // are known.
  Status MayEnd(const std::vector<std::string>& jobs) const;
  // Returns the names of the jobs with processes on the node, without tools.
  std::vector<std::string> JobsOn(NodeId node) const;

  const Parts p_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_NODE_COMMANDS_H_
