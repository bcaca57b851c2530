#include "client/cli/agents/node_start.h"

#include <algorithm>

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using bootstrap::v1::NodeInfo;

Status MalformedReply() {
  return Status(kErrUnpackFailure, "the root's answer is malformed");
}

}  // namespace

Result<StartedNodes> NodeStart::Run(AgentGroup* group) {
  Status status = CheckSource();
  if (status.ok()) status = FindSites();
  if (status.ok()) status = MakeMembers();
  if (status.ok() && !plans_.empty()) status = StartAgents(group);
  if (!status.ok()) return status;
  return std::move(result_);
}

Status NodeStart::CheckSource() const {
  const std::string& file = context_.cluster_file();
  if (file.empty()) return Status();
  return Status(kErrNotSupported,
                "the nodes of this overlay are listed in " + file +
                    "; add new ones at the end of the list on all nodes, and "
                    "send SIGHUP to the agents");
}

// All nodes of an emulated overlay are on this machine.
Status NodeStart::FindSites() {
  if (context_.emulated()) {
    for (const Host& host : options_.hosts) {
      AgentSite& site = sites_.emplace_back();
      site.name = host.name;
      site.slots = host.slots_given ? host.slots : 0;
    }
    return Status();
  }
  Result<std::vector<AgentSite>> sites =
      HostSites(options_.hosts, options_.launch_agent, options_.remote_agent,
                options_.launches_all);
  if (!sites.ok()) return sites.status();
  sites_ = *std::move(sites);
  return Status();
}

bool NodeStart::remote() const {
  return std::ranges::any_of(sites_, [](const AgentSite& site) {
    return !site.remote_command.empty();
  });
}

Status NodeStart::MakeMembers() {
  v1c::AddNodesRequest request;
  for (const AgentSite& site : sites_) {
    NodeInfo node;
    node.set_name(site.name);
    node.set_slots(site.slots);
    for (const std::string& alias : site.aliases) node.add_aliases(alias);
    request.add_nodes(node.SerializeAsString());
  }
  const auto reply = root_->AddNodes(request, remote());
  if (!reply.ok()) return reply.status();
  bootstrap::v1::Config config;
  if (static_cast<size_t>(reply->nodes_size()) != sites_.size() ||
      !config.ParseFromString(reply->config())) {
    return MalformedReply();
  }
  Status status;
  if (config.embedded() && !options_.keeps_agents) {
    status = Status(kErrNotSupported,
                    "the agents of context " + context_.name() +
                        " end with another launcher, which alone could add "
                        "hosts");
  }
  for (size_t i = 0; i < sites_.size(); ++i) {
    const v1c::AddedNode& node = reply->nodes(static_cast<int>(i));
    const AgentSite& site = sites_[i];
    if (node.is_new()) new_members_.push_back(site.name);
    if (node.up()) {
      result_.was_up.push_back(site.name);
    } else if (status.ok()) {
      status = Plan(site, node.node(), config);
    }
  }
  return status;
}

Status NodeStart::Plan(const AgentSite& site, uint32_t number,
                       bootstrap::v1::Config config) {
  if (!options_.listen.empty()) config.set_listen(options_.listen);
  if (!site.remote_command.empty() &&
      HostOfAddress(config.listen()) == "127.0.0.1") {
    return Status(kErrBadParam,
                  "the agents of context " + context_.name() +
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
  agent.config.set_cluster_key(context_.cluster_key());
  agent.config.set_self(number);
  agent.config.set_node_name(site.name);
  agent.config.set_slots(site.slots);
  for (const std::string& alias : site.aliases) {
    agent.config.add_aliases(alias);
  }
  if (site.remote_command.empty()) PlaceDirectory(number, &agent);
  plans_.push_back(std::move(agent));
  result_.added.push_back(site.name);
  return Status();
}

void NodeStart::PlaceDirectory(uint32_t number, AgentPlan* agent) const {
  if (options_.runtime_dir.empty()) return;
  agent->config.set_runtime_dir(options_.runtime_dir + "/" +
                                std::to_string(number));
}

Status NodeStart::StartAgents(AgentGroup* group) {
  group->JoinRunning(
      [this](const std::vector<NodeInfo>& nodes) { return Describe(nodes); });
  if (Status s = group->Start(std::move(plans_)); !s.ok()) return s;
  const Status status = group->WaitReady(
      options_.timeout_ms, options_.interrupt_fd, options_.progress);
  if (status.ok()) result_.nodes = group->nodes();
  return status;
}

// Gives the descriptions of the new agents to the root. Returns the members
// for these agents.
Result<bootstrap::v1::Members> NodeStart::Describe(
    const std::vector<NodeInfo>& nodes) {
  v1c::AddNodesRequest request;
  for (const NodeInfo& node : nodes) {
    request.add_nodes(node.SerializeAsString());
  }
  const auto reply = root_->AddNodes(request, remote());
  if (!reply.ok()) return reply.status();
  Result<bootstrap::v1::Members> members = bootstrap::v1::Members();
  if (!members->ParseFromString(reply->members())) return MalformedReply();
  return members;
}

}  // namespace canopy::cli
