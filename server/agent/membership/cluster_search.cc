#include "server/agent/membership/cluster_search.h"

#include <algorithm>
#include <utility>

#include "common/hosts.h"

namespace canopy::agent {
namespace {

using std::chrono::milliseconds;
using Found = std::optional<ClusterPlace>;

constexpr milliseconds kFirstPause(250);
constexpr milliseconds kLongestPause(10000);
// The time for which the list must stay the same until its first agent begins
// an overlay. Records of agents that start together appear one after the other.
constexpr milliseconds kSettle(2000);

}  // namespace

Result<Found> ClusterSearch::Run() {
  milliseconds pause = kFirstPause;
  for (;;) {
    Result<Found> place = Look();
    if (!place.ok() || place->has_value()) return place;
    if (p_.log && std::exchange(logged_, reason_) != reason_) p_.log(reason_);
    if (!p_.wait(alone_in_.empty() ? pause : kSettle)) return Found();
    pause = std::min(pause * 2, kLongestPause);
  }
}

Found ClusterSearch::Wait(const std::string& reason) {
  reason_ = reason;
  return std::nullopt;
}

Result<Found> ClusterSearch::Look() {
  const std::vector<std::string> before = std::exchange(alone_in_, {});
  const Result<std::vector<ClusterNode>> nodes = p_.nodes();
  if (!nodes.ok()) return Wait(nodes.status().message());
  const auto own = std::ranges::find_if(
      *nodes, [this](const ClusterNode& node) { return p_.is_own(node.host); });
  if (own == nodes->end()) {
    return Wait("none of the " + std::to_string(nodes->size()) +
                " addresses of the cluster belongs to this machine");
  }
  std::vector<ClusterNode> others;
  std::vector<std::string> hosts;
  for (const ClusterNode& node : *nodes) {
    hosts.push_back(node.host);
    if (&node != &*own) others.push_back(node);
  }
  const auto reply = p_.ask(others);
  if (reply.ok()) return Join(*reply, *own);
  if (reply.code() != kErrNotFound) {
    return Wait("the overlay gives no place: " + reply.status().message());
  }
  if (own != nodes->begin()) {
    return Wait("waiting for the agent at " + nodes->front().host +
                ", the first address of the cluster");
  }
  if (hosts == before) {
    ClusterNode node = *own;
    node.name = name_;
    return Found({{std::move(node)}, 0, std::nullopt});
  }
  alone_in_ = std::move(hosts);
  return Wait("no other agent answers");
}

Result<Found> ClusterSearch::Join(const control::v1::AddNodesReply& reply,
                                  const ClusterNode& own) const {
  bootstrap::v1::Members members;
  const NodeId self = reply.nodes_size() == 1 ? reply.nodes(0).node() : kNoNode;
  if (!members.ParseFromString(reply.members()) ||
      self >= static_cast<NodeId>(members.nodes_size())) {
    return Status(kErrUnpackFailure, "the root's answer is malformed");
  }
  ClusterPlace place;
  place.self = self;
  for (const bootstrap::v1::NodeInfo& info : members.nodes()) {
    place.nodes.push_back({info.name(), HostOfAddress(info.address()), own.port,
                           own.control_port});
  }
  place.nodes[self] = {name_, own.host, own.port, own.control_port};
  place.members = std::move(members);
  return Found(std::move(place));
}

}  // namespace canopy::agent
