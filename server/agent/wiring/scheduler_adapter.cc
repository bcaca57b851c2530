#include "server/agent/wiring/scheduler_adapter.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "common/gpu.h"
#include "common/hex.h"
#include "common/ids.h"
#include "common/topology.h"
#include "common/version.h"
#include "server/agent/bring_up/log.h"
#include "server/control/placement_request.h"
#include "server/security/cluster_key.h"
#include "server/security/identity.h"

namespace canopy::agent {
namespace {

namespace v1 = hostmodule::v1;

// The time in which the agents' trees converge and the pending requests of
// processes are sent again.
constexpr uint32_t kSettleMs = 10'000;
constexpr int64_t kFinishNs = 1'000'000'000;
constexpr int kStepMs = 10;

v1::Overlay OverlayOf(const bootstrap::v1::Config& config) {
  v1::Overlay overlay;
  overlay.set_overlay_id(config.overlay_id());
  overlay.set_context(config.context());
  overlay.set_agent(config.node_name());
  overlay.set_version(kVersion);
  overlay.mutable_user()->set_uid(geteuid());
  overlay.mutable_user()->set_gid(getegid());
  return overlay;
}

v1::NodeReport NodeOf(const bootstrap::v1::NodeInfo& info) {
  v1::NodeReport node;
  node.set_name(info.name());
  *node.mutable_aliases() = info.aliases();
  node.set_slots(info.slots());
  const Result<Topology> topology = DecodeTopology(info.topology());
  if (topology.ok()) {
    node.set_cores(topology->Count(TopologyLevel::kCore));
    if (topology->memory_bytes != 0) {
      node.set_memory_bytes(topology->memory_bytes);
    }
    node.set_cpus(topology->cpus.ToString());
    for (const Gpu& gpu : topology->gpus) node.add_gpus(GpuName(gpu));
  }
  return node;
}

}  // namespace

Result<std::unique_ptr<SchedulerAdapter>> SchedulerAdapter::Make(
    const Parts& parts, const security::SecurityConfig& security) {
  const auto key =
      security::ClusterKey::FromHex(ToHex(parts.config->cluster_key()));
  auto client = scheduler::ServiceClient::Make(
      parts.loop, parts.config->host_module(), security,
      key.ok() ? security::DeriveSchedulerToken(*key) : "");
  if (!client.ok()) return client.status();
  return std::unique_ptr<SchedulerAdapter>(
      new SchedulerAdapter(parts, *std::move(client)));
}

SchedulerAdapter::SchedulerAdapter(
    const Parts& parts, std::unique_ptr<scheduler::ServiceClient> client)
    : parts_(parts),
      link_(parts.loop, client.get(), OverlayOf(*parts.config),
            parts.config->host_module(), Log),
      reports_(ReportsOptions()),
      placement_(PlacementOptions()),
      host_(HostOptions()),
      client_(std::move(client)) {}

SchedulerAdapter::~SchedulerAdapter() { link_.Stop(); }

scheduler::Reports::Options SchedulerAdapter::ReportsOptions() {
  scheduler::Reports::Options options;
  options.loop = parts_.loop;
  options.link = &link_;
  options.commands = &parts_.job_manager->commands();
  options.incarnation = parts_.started;
  options.store = parts_.reports;
  options.settle_ms = parts_.config->restart_grace_ms() + kSettleMs;
  options.nodes = [this] { return Nodes(); };
  options.jobs = [this] { return placement_.Jobs(); };
  options.release_again = [this](const v1::JobReleasedRequest& release) {
    placement_.ReleaseAgain(release);
  };
  options.wall_clock_ms = control::WallClockMs;
  return options;
}

scheduler::JobPlacement::Options SchedulerAdapter::PlacementOptions() {
  scheduler::JobPlacement::Options options;
  options.loop = parts_.loop;
  options.link = &link_;
  options.listener = &reports_;
  options.fallback = parts_.config->host_module_fallback();
  options.wall_clock_ms = control::WallClockMs;
  return options;
}

scheduler::SchedulerHost::Options SchedulerAdapter::HostOptions() {
  scheduler::SchedulerHost::Options options;
  options.loop = parts_.loop;
  options.link = &link_;
  options.sink = parts_.sink;
  options.embedded = parts_.embedded;
  options.fallback = parts_.config->host_module_fallback();
  options.uid = geteuid();
  options.gid = getegid();
  options.incarnation = parts_.started;
  return options;
}

void SchedulerAdapter::Start(const bootstrap::v1::Members& members) {
  for (const bootstrap::v1::NodeInfo& info : members.nodes()) {
    nodes_.push_back(NodeOf(info));
  }
  nodes_ = Nodes();
  reports_.SetRoot(parts_.membership->IsLeader(parts_.config->self()));
  link_.Start();
}

void SchedulerAdapter::FinishReports() {
  const int64_t deadline = EventLoop::Now() + kFinishNs;
  const auto run_while = [&](auto holds) {
    while (holds() && EventLoop::Now() < deadline) {
      parts_.loop->RunOnce(kStepMs);
    }
  };
  run_while([this] { return reports_.AwaitsRecords(); });
  reports_.SayGoodbye();
  run_while([this] { return reports_.Writes(); });
}

void SchedulerAdapter::SetState(NodeId node, v1::NodeReport* report) const {
  const Membership& members = *parts_.membership;
  const std::string drained = members.WhyDrained(node);
  const std::string away = members.WhyAway(node);
  report->set_state(!members.up(node)  ? v1::NODE_STATE_LOST
                    : !away.empty()    ? v1::NODE_STATE_AWAY
                    : !drained.empty() ? v1::NODE_STATE_DRAINED
                                       : v1::NODE_STATE_UP);
  report->set_reason(!members.up(node) ? members.LostNode(report->name())
                     : !away.empty()   ? away
                                       : drained);
}

std::vector<v1::NodeReport> SchedulerAdapter::Nodes() const {
  std::vector<v1::NodeReport> nodes = nodes_;
  for (size_t i = 0; i < nodes.size(); ++i) {
    SetState(static_cast<NodeId>(i), &nodes[i]);
  }
  return nodes;
}

void SchedulerAdapter::ReportChanges() {
  std::vector<v1::NodeReport> now = Nodes();
  std::swap(now, nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state() != now[i].state() ||
        nodes_[i].reason() != now[i].reason()) {
      reports_.OnNode(nodes_[i]);
    }
  }
}

void SchedulerAdapter::OnLeaderChanged() {
  reports_.SetRoot(parts_.membership->IsLeader(parts_.config->self()));
}

void SchedulerAdapter::OnMember(NodeId node) {
  if (node > nodes_.size()) return;
  const v1::NodeReport known = NodeOf(parts_.membership->info(node));
  if (node == nodes_.size()) nodes_.emplace_back();
  v1::NodeReport now = known;
  SetState(node, &now);
  if (nodes_[node].SerializeAsString() == now.SerializeAsString()) return;
  nodes_[node] = std::move(now);
  reports_.OnNode(nodes_[node]);
}

void SchedulerAdapter::OnNodeStateChanged(const core::NodeStateChanged&) {
  OnLeaderChanged();
  ReportChanges();
}

}  // namespace canopy::agent
