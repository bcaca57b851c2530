#include "server/agent/membership/node_commands.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/hosts.h"
#include "common/string_util.h"
#include "common/text.h"

namespace canopy::agent {
namespace {

using overlay::Service;

constexpr size_t kMaxName = 255;

// Returns the host at which new agents listen, like this agent: on loopback, at
// all addresses, or, with an empty text, at their own address.
std::string ListenLike(const std::string& listen) {
  const std::string host = HostOfAddress(listen);
  const bool shared = host == "127.0.0.1" || host == "localhost" ||
                      host == "0.0.0.0" || host == "::1" || host == "::" ||
                      host == "[::1]" || host == "[::]";
  return shared ? host : "";
}

// Returns no value for a decision that this agent does not know.
std::optional<Service> ServiceOf(
    control::v1::DecideNodesRequest::Decision decision) {
  switch (decision) {
    case control::v1::DecideNodesRequest::DECISION_RESUME:
      return Service::kInService;
    case control::v1::DecideNodesRequest::DECISION_DRAIN:
      return Service::kDrained;
    case control::v1::DecideNodesRequest::DECISION_REMOVE:
      return Service::kRemoved;
    default:
      return std::nullopt;
  }
}

// Returns the reason of a drain.
std::string ReasonOf(const control::v1::DecideNodesRequest& request) {
  return request.reason().empty() ? "by canopy node drain"
                                  : Printable(request.reason());
}

}  // namespace

Status NodeCommands::CheckEnds() const {
  if (!p_.config->embedded()) return Status();
  return Status(kErrNotSupported,
                "these agents end with their launcher; the nodes of an overlay "
                "that 'canopy up' has started can be changed");
}

Status NodeCommands::CheckLeader() const {
  if (!p_.membership->IsLeader(p_.config->self())) {
    return Status(kErrUnreach, p_.config->node_name() +
                                   " does not lead the overlay any more; try "
                                   "again");
  }
  if (p_.membership->HasMajority()) return Status();
  return Status(kErrUnreach,
                "half of the nodes or more are lost, and may have a root of "
                "their own; see 'canopy status'");
}

Status NodeCommands::CheckName(const bootstrap::v1::NodeInfo& info) const {
  const std::string& name = info.name();
  if (!name.empty() && name.size() <= kMaxName && name == Printable(name)) {
    return Status();
  }
  return Status(kErrBadParam, "'" + Printable(name) + "' is no name of a node");
}

Status NodeCommands::AddOne(const bootstrap::v1::NodeInfo& info,
                            control::v1::AddedNode* added) {
  NodeId node = p_.membership->Find(info.name());
  const bool describes = !info.address().empty();
  if (node == kNoNode && describes) {
    return Status(kErrNotFound, info.name() + " is no member of the overlay");
  }
  added->set_is_new(node == kNoNode);
  if (node == kNoNode) node = p_.membership->size();
  added->set_node(node);
  added->set_up(!added->is_new() && p_.membership->up(node));
  if (!added->is_new() && !describes) return Status();
  overlay::MemberRecord record;
  if (!added->is_new()) record = p_.membership->RecordOf(node);
  if (added->is_new()) record.since_ms = static_cast<uint64_t>(p_.now_ms());
  record.node = node;
  record.name = info.name();
  record.description = info.SerializeAsString();
  return p_.decide(std::move(record));
}

bootstrap::v1::Config NodeCommands::SharedConfig() const {
  bootstrap::v1::Config config = *p_.config;
  config.set_listen(ListenLike(config.listen()));
  // A caller that may command this agent need not know the key.
  config.clear_cluster_key();
  config.clear_control_listen();
  config.clear_node_name();
  config.clear_aliases();
  config.clear_runtime_dir();
  config.clear_slots();
  config.clear_self();
  config.clear_pmix_port();
  config.clear_predecessor();
  config.clear_system_server();
  config.clear_member_names();
  for (NodeId node = 0; node < p_.membership->size(); ++node) {
    config.add_member_names(p_.membership->info(node).name());
  }
  return config;
}

Result<control::v1::AddNodesReply> NodeCommands::Add(
    const control::v1::AddNodesRequest& request) {
  if (Status status = CheckEnds(); !status.ok()) return status;
  return AddForLauncher(request);
}

void NodeCommands::Withdraw(const std::vector<NodeId>& nodes) {
  if (!CheckLeader().ok()) return;
  for (const NodeId node : nodes) (void)Set(node, Service::kRemoved, "");
}

Result<control::v1::AddNodesReply> NodeCommands::AddForLauncher(
    const control::v1::AddNodesRequest& request) {
  if (Status status = CheckLeader(); !status.ok()) return status;
  std::vector<bootstrap::v1::NodeInfo> nodes;
  for (const std::string& node : request.nodes()) {
    if (!nodes.emplace_back().ParseFromString(node)) {
      return Status(kErrBadParam, "the description of a node is malformed");
    }
    if (Status status = CheckName(nodes.back()); !status.ok()) return status;
  }
  control::v1::AddNodesReply reply;
  for (const bootstrap::v1::NodeInfo& info : nodes) {
    const Status status = AddOne(info, reply.add_nodes());
    if (!status.ok()) return status;
  }
  bootstrap::v1::Members members = p_.membership->Members();
  members.set_known(p_.known());
  reply.set_config(SharedConfig().SerializeAsString());
  reply.set_members(members.SerializeAsString());
  return reply;
}

// ---------------------------------------------------------------- deciding ---

std::vector<std::string> NodeCommands::JobsOn(NodeId node) const {
  std::vector<std::string> names;
  for (const auto& [nspace, record] : p_.jobs()) {
    const JobSpec& job = *record.job;
    const bool is_here = std::ranges::any_of(job.procs, [&](const auto& p) {
      return job.nodes[p.node].agent == node;
    });
    if (is_here && !record.facts.tool) names.push_back(nspace);
  }
  return names;
}

NodeId NodeCommands::ControllerOf(const control::JobRecord& job) const {
  return job.controller == kNoNode ? p_.config->self() : job.controller;
}

std::vector<std::string> NodeCommands::ControlledBy(NodeId node) const {
  std::vector<std::string> names;
  for (const auto& [nspace, record] : p_.jobs()) {
    if (ControllerOf(record) == node) names.push_back(nspace);
  }
  return names;
}

// Only the agent that controls a job can end it.
Status NodeCommands::MayEnd(const std::vector<std::string>& jobs) const {
  for (const std::string& nspace : jobs) {
    const NodeId controller = ControllerOf(p_.jobs().at(nspace));
    if (controller == p_.config->self()) continue;
    return Status(kErrResourceBusy,
                  "job " + nspace + " is controlled by the agent of " +
                      p_.membership->info(controller).name() +
                      " and is not ended by this command; 'canopy kill' ends "
                      "its processes");
  }
  return Status();
}

Result<std::vector<NodeId>> NodeCommands::Named(const Decision& request) const {
  std::vector<NodeId> nodes;
  for (const std::string& name : request.nodes()) {
    const NodeId node = p_.membership->Find(name);
    if (node == kNoNode) {
      return Status(kErrNotFound, "there is no node '" + Printable(name) +
                                      "'; 'canopy node list' lists them");
    }
    if (std::ranges::count(nodes, node) == 0) nodes.push_back(node);
  }
  return nodes;
}

Status NodeCommands::MayRemove(const std::vector<NodeId>& nodes,
                               bool force) const {
  size_t kept = 0;
  for (NodeId node = 0; node < p_.membership->size(); ++node) {
    const bool up = p_.membership->up(node) && !p_.membership->removed(node);
    kept += up && std::ranges::count(nodes, node) == 0 ? 1 : 0;
  }
  if (kept == 0) {
    return Status(kErrBadParam,
                  "no node would be left; 'canopy down' ends the overlay");
  }
  for (const NodeId node : force ? std::vector<NodeId>() : nodes) {
    const std::string& name = p_.membership->info(node).name();
    if (const auto jobs = JobsOn(node); !jobs.empty()) {
      return Status(kErrResourceBusy, name + " runs processes of " +
                                          Join(jobs, ", ") +
                                          "; wait for them, or use --force");
    }
    if (const auto jobs = ControlledBy(node); !jobs.empty()) {
      return Status(kErrResourceBusy, name + " controls " + Join(jobs, ", ") +
                                          "; wait for them, or use --force");
    }
  }
  return Status();
}

Status NodeCommands::Set(NodeId node, overlay::Service service,
                         const std::string& reason) {
  overlay::MemberRecord record = p_.membership->RecordOf(node);
  if (record.service == service && record.reason == reason) return Status();
  record.service = service;
  record.reason = reason;
  record.since_ms = static_cast<uint64_t>(p_.now_ms());
  return p_.decide(std::move(record));
}

Status NodeCommands::Drain(const std::string& name, const std::string& reason) {
  const NodeId node = p_.membership->Find(name);
  if (node == kNoNode) {
    return Status(kErrNotFound, "there is no node '" + name + "'");
  }
  return Set(node,
             reason.empty() ? overlay::Service::kInService
                            : overlay::Service::kDrained,
             reason);
}

Result<control::v1::DecideNodesReply> NodeCommands::Decide(
    const Decision& request) {
  if (Status status = CheckEnds(); !status.ok()) return status;
  if (Status status = CheckLeader(); !status.ok()) return status;
  const std::optional<Service> service = ServiceOf(request.decision());
  if (!service) {
    return Status(kErrBadParam, "this agent does not know that decision");
  }
  Result<std::vector<NodeId>> nodes = Named(request);
  if (!nodes.ok()) return nodes.status();
  if (*service == Service::kRemoved) {
    if (Status may = MayRemove(*nodes, request.force()); !may.ok()) return may;
  }
  // The leader decides about itself last, because it ends when it is removed,
  // and leads no longer when it is drained.
  std::stable_partition(nodes->begin(), nodes->end(), [this](NodeId node) {
    return node != p_.config->self();
  });
  const bool drains = *service == Service::kDrained;
  const std::string reason = drains ? ReasonOf(request) : "";
  std::set<std::string> ended;
  for (const NodeId node : *nodes) {
    if (!drains || !request.force()) break;
    const std::vector<std::string> jobs = JobsOn(node);
    if (Status may = MayEnd(jobs); !may.ok()) return may;
    ended.insert(jobs.begin(), jobs.end());
  }
  for (const NodeId node : *nodes) {
    const Status status = Set(node, *service, reason);
    if (!status.ok()) return status;
  }
  control::v1::DecideNodesReply reply;
  for (const std::string& nspace : ended) {
    p_.end_job(nspace, "its node is drained: " + reason,
               request.grace_seconds());
    reply.add_ended_jobs(nspace);
  }
  return reply;
}

}  // namespace canopy::agent
