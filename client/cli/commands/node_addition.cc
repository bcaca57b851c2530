#include "client/cli/commands/node_addition.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/cli/agents/agent_group.h"
#include "client/cli/agents/agent_leftovers.h"
#include "client/cli/agents/agent_plans.h"
#include "client/cli/agents/overlay_context.h"
#include "client/cli/base/command.h"
#include "client/cli/base/progress_line.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/config/the_config.h"
#include "client/cli/context/context_store.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/openpmix/tool_file.h"

namespace canopy::cli {

using bootstrap::v1::NodeInfo;

void RemoveDirectoriesOf(const v1::Context& context,
                         const std::function<bool(const NodeInfo&)>& is_gone) {
  for (const NodeInfo& member : context.members()) {
    if (!is_gone(member)) continue;
    // A tool that found the files of two agents would connect to neither.
    openpmix::ToolFile::RemoveAll(member.runtime_dir());
    if (!IsThisMachineNow(member.machine())) continue;
    (void)RemoveAgentDirectory(member.runtime_dir());
  }
}

namespace {

namespace v1c = control::v1;

Status Malformed() {
  return Status(kErrUnpackFailure, "the root's answer is malformed");
}

// Adds the nodes of one command.
class Addition {
 public:
  Addition(OverlayTarget* overlay, const NodeAdditionOptions& options)
      : overlay_(*overlay), options_(options) {}

  Result<NodeAddition> Run() {
    Status status = CheckLauncher();
    if (status.ok()) status = FindSites();
    if (status.ok()) status = MakeMembers();
    if (status.ok() && !plans_.empty()) status = StartAgents();
    if (!status.ok()) {
      TakeBack();
      return status;
    }
    return std::move(result_);
  }

 private:
  Status CheckLauncher() const {
    const std::string& file = overlay_.context.cluster_file();
    if (file.empty()) return Status();
    return Status(kErrNotSupported,
                  "the nodes of this overlay are listed in " + file +
                      "; add new ones at the end of the list on all nodes, "
                      "and send SIGHUP to the agents");
  }
  // All nodes of an emulated overlay are on this machine.
  Status FindSites() {
    if (overlay_.context.emulated()) {
      for (const Host& host : options_.hosts) {
        AgentSite& site = sites_.emplace_back();
        site.name = host.name;
        site.slots = host.slots_given ? host.slots : 0;
      }
      return Status();
    }
    Result<std::vector<AgentSite>> sites = HostSites(
        options_.hosts,
        options_.launch_agent.empty() ? overlay_.context.launch_agent()
                                      : options_.launch_agent,
        TheConfig()->at("launch-agent").text);
    if (!sites.ok()) return sites.status();
    sites_ = *std::move(sites);
    return Status();
  }

  Status MakeMembers() {
    v1c::AddNodesRequest request;
    for (const AgentSite& site : sites_) {
      NodeInfo node;
      node.set_name(site.name);
      node.set_slots(site.slots);
      for (const std::string& alias : site.aliases) node.add_aliases(alias);
      request.add_nodes(node.SerializeAsString());
    }
    auto reply = overlay_.root.client.AddNodes(request);
    if (!reply.ok()) return reply.status();
    bootstrap::v1::Config config;
    if (!config.ParseFromString(reply->config())) return Malformed();
    for (int i = 0; i < reply->nodes_size(); ++i) {
      const v1c::AddedNode& node = reply->nodes(i);
      const AgentSite& site = sites_[static_cast<size_t>(i)];
      if (node.is_new()) new_members_.push_back(site.name);
      if (node.up()) {
        result_.was_up.push_back(site.name);
        continue;
      }
      const Status status = Plan(site, node.node(), config);
      if (!status.ok()) return status;
    }
    return Status();
  }

  Status Plan(const AgentSite& site, uint32_t number,
              bootstrap::v1::Config config) {
    if (!options_.listen.empty()) config.set_listen(options_.listen);
    if (!site.remote_command.empty() &&
        HostOfAddress(config.listen()) == "127.0.0.1") {
      return Status(kErrBadParam,
                    "the agents of context " + overlay_.context.name() +
                        " listen on loopback only, so '" + site.name +
                        "' could not reach them; start them with 'canopy up "
                        "--listen HOST'");
    }
    OverlayPlan plan;
    plan.sites = {site};
    AgentPlan agent = MakeAgentPlans(plan)[0];
    const std::string library_dir = agent.config.library_dir();
    agent.config = std::move(config);
    if (!library_dir.empty()) agent.config.set_library_dir(library_dir);
    agent.config.set_cluster_key(overlay_.context.cluster_key());
    agent.config.set_self(number);
    agent.config.set_node_name(site.name);
    agent.config.set_slots(site.slots);
    for (const std::string& alias : site.aliases) {
      agent.config.add_aliases(alias);
    }
    plans_.push_back(std::move(agent));
    result_.added.push_back(site.name);
    return Status();
  }

  Status StartAgents() {
    SignalSource signals;
    AgentGroup group;
    group.JoinRunning(
        [this](const std::vector<NodeInfo>& nodes) { return Describe(nodes); });
    if (Status s = group.Start(std::move(plans_)); !s.ok()) return s;
    ProgressLine line(STDERR_FILENO, !options_.quiet);
    const Status status =
        group.WaitReady(static_cast<int>(options_.timeout_seconds) * 1000,
                        signals.fd(), [&line](const std::string& text) {
                          line.Set(text);
                          line.Tick();
                        });
    line.Clear();
    return status.ok() ? UpdateContext(group.nodes()) : status;
  }

  // Gives the descriptions of the new agents to the root. Returns the members
  // for these agents.
  Result<bootstrap::v1::Members> Describe(const std::vector<NodeInfo>& nodes) {
    v1c::AddNodesRequest request;
    for (const NodeInfo& node : nodes) {
      request.add_nodes(node.SerializeAsString());
    }
    auto reply = overlay_.root.client.AddNodes(request);
    if (!reply.ok()) return reply.status();
    Result<bootstrap::v1::Members> members = bootstrap::v1::Members();
    if (!members->ParseFromString(reply->members())) return Malformed();
    return members;
  }

  // Another command may have changed the file meanwhile.
  Status UpdateContext(const std::vector<NodeInfo>& nodes) {
    const ContextStore store;
    Result<v1::Context> now = store.Load(overlay_.context.name());
    if (!now.ok()) return now.status();
    RemoveDirectoriesOf(*now, [&](const NodeInfo& member) {
      return std::ranges::count(nodes, member.name(), &NodeInfo::name) > 0;
    });
    ReplaceMembers(nodes, &*now);
    overlay_.context = *std::move(now);
    return store.Update(overlay_.context);
  }

  void TakeBack() {
    if (new_members_.empty()) return;
    v1c::DecideNodesRequest request;
    request.set_decision(v1c::DecideNodesRequest::DECISION_REMOVE);
    request.mutable_nodes()->Add(new_members_.begin(), new_members_.end());
    const auto reply = overlay_.root.client.DecideNodes(request);
    if (reply.ok()) return;
    PrintError("warning: new nodes stay members without an agent: " +
               reply.status().message());
  }

  OverlayTarget& overlay_;
  const NodeAdditionOptions& options_;
  std::vector<AgentSite> sites_;
  std::vector<std::string> new_members_;
  std::vector<AgentPlan> plans_;
  NodeAddition result_;
};

}  // namespace

Result<NodeAddition> AddNodes(OverlayTarget* overlay,
                              const NodeAdditionOptions& options) {
  return Addition(overlay, options).Run();
}

}  // namespace canopy::cli
