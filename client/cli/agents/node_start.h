// Starts agents on hosts that become nodes of a running overlay.
#ifndef CANOPY_CLIENT_CLI_AGENTS_NODE_START_H_
#define CANOPY_CLIENT_CLI_AGENTS_NODE_START_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/agents/agent_group.h"
#include "client/cli/agents/agent_plans.h"
#include "client/cli/context/context.pb.h"
#include "common/hosts.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// The root of the overlay, which numbers the new members.
class OverlayRoot {
 public:
  virtual ~OverlayRoot() = default;
  // Performs Control.AddNodes. `remote` is true if some of the nodes are on
  // other machines.
  virtual Result<control::v1::AddNodesReply> AddNodes(
      const control::v1::AddNodesRequest& request, bool remote) = 0;
};

struct NodeStartOptions {
  std::vector<Host> hosts;
  // The command that reaches a host. Empty: `remote_agent` for other machines,
  // and none for this machine.
  std::string launch_agent;
  std::string remote_agent = kDefaultLaunchAgent;
  bool launches_all = false;  // as in HostSites
  std::string listen;         // empty: like the agents that are up
  // The parent of the directories of agents on this machine. Empty: each agent
  // chooses its own directory.
  std::string runtime_dir;
  // True if the caller keeps the group of Run until the overlay ends. Otherwise
  // embedded agents are refused, because they would end too early.
  bool keeps_agents = false;
  int timeout_ms = 60000;
  int interrupt_fd = -1;  // as in AgentGroup::WaitReady
  AgentGroup::Progress progress;
};

struct StartedNodes {
  std::vector<std::string> added;   // names of the nodes that have an agent now
  std::vector<std::string> was_up;  // names of the nodes that had one before
  std::vector<bootstrap::v1::NodeInfo> nodes;  // of the agents in `added`
};

// Adds the nodes of one request. Used by one thread.
class NodeStart {
 public:
  // `context` is that of the overlay. It and `root` outlive this object.
  NodeStart(const v1::Context& context, OverlayRoot* root,
            NodeStartOptions options)
      : context_(context), root_(root), options_(std::move(options)) {}

  // Makes the hosts members and starts an agent on each host that has none.
  // Embedded agents end with `group`. Returns kErrNotSupported for an overlay
  // whose nodes are listed in a file or whose agents another launcher keeps,
  // kErrBadParam for a host that the running agents cannot reach, and otherwise
  // the errors of HostSites, of OverlayRoot::AddNodes and of
  // AgentGroup::WaitReady.
  Result<StartedNodes> Run(AgentGroup* group);
  // Returns the names of the nodes that Run has made members, also if it
  // failed.
  const std::vector<std::string>& new_members() const { return new_members_; }

 private:
  Status CheckSource() const;
  Status FindSites();
  bool remote() const;
  Status MakeMembers();
  Status Plan(const AgentSite& site, uint32_t number,
              bootstrap::v1::Config config);
  void PlaceDirectory(uint32_t number, AgentPlan* agent) const;
  Status StartAgents(AgentGroup* group);
  Result<bootstrap::v1::Members> Describe(
      const std::vector<bootstrap::v1::NodeInfo>& nodes);

  const v1::Context& context_;
  OverlayRoot* const root_;
  const NodeStartOptions options_;
  std::vector<AgentSite> sites_;
  std::vector<std::string> new_members_;
  std::vector<AgentPlan> plans_;
  StartedNodes result_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_NODE_START_H_
