#include "hostmodule/embedded_host.h"

#include <sys/random.h>

#include <cstdio>
#include <random>
#include <utility>

#include "hostmodule/mapper.h"

namespace canopy::host {

EmbeddedHost::EmbeddedHost(InputSink* sink, NodeId local_agent,
                           std::string overlay_tag)
    : sink_(sink), local_agent_(local_agent), tag_(std::move(overlay_tag)) {}

std::string EmbeddedHost::RandomTag() {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) {
    value = std::random_device()();
  }
  char text[9];
  snprintf(text, sizeof text, "%08x", value);
  return text;
}

void EmbeddedHost::SetNodes(std::vector<MapNode> nodes) {
  nodes_ = std::move(nodes);
}

void EmbeddedHost::SetNodeUp(NodeId agent, bool up) {
  if (up) {
    down_.erase(agent);
  } else {
    down_.insert(agent);
  }
}

std::vector<MapNode> EmbeddedHost::UsableNodes() {
  std::map<NodeId, uint32_t> in_use;
  std::erase_if(jobs_, [](const auto& job) { return job.second.expired(); });
  for (const auto& [nspace, weak] : jobs_) {
    const std::shared_ptr<const JobSpec> job = weak.lock();
    for (const ProcPlacement& p : job->procs) {
      ++in_use[job->nodes[p.node].agent];
    }
  }
  std::vector<MapNode> usable;
  for (const MapNode& node : nodes_) {
    if (down_.contains(node.agent)) continue;
    usable.push_back(node);
    usable.back().slots_in_use = in_use[node.agent];
  }
  return usable;
}

uint32_t EmbeddedHost::SessionOf(const std::string& nspace) const {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return 0;
  const std::shared_ptr<const JobSpec> job = it->second.lock();
  return job == nullptr ? 0 : job->session_id;
}

Result<std::shared_ptr<const JobSpec>> EmbeddedHost::Plan(MapRequest request) {
  const uint64_t number = jobs_made_ + 1;
  request.nspace = "canopy-" + tag_ + "-" + std::to_string(number);
  request.local_agent = local_agent_;
  // A spawned job belongs to its parent's session.
  request.session_id = SessionOf(request.parent.nspace);
  if (request.session_id == 0) {
    request.session_id = static_cast<uint32_t>(number);
  }
  Result<JobSpec> mapped = MapJob(UsableNodes(), request);
  if (!mapped.ok()) return mapped.status();
  jobs_made_ = number;
  auto job = std::make_shared<const JobSpec>(std::move(*mapped));
  jobs_[job->nspace] = job;
  return job;
}

void EmbeddedHost::OnJobChanged(const core::JobChanged& change) {
  const bool ended = change.phase == core::JobPhase::kEnded;
  if (ended) jobs_.erase(change.nspace);
  if (!ended && change.phase != core::JobPhase::kRunning) return;
  const auto it = spawning_.find(change.nspace);
  if (it == spawning_.end()) return;
  const NspaceReply reply = std::move(it->second.reply);
  spawning_.erase(it);
  // A job may be over, and well, before it was seen to run.
  if (ended && change.status != kSuccess) {
    return reply(Status(change.status, change.text), "");
  }
  reply(Status(), change.nspace);
}

void EmbeddedHost::Abort(const Requester& who, int status,
                         const std::string& message,
                         const std::vector<ProcId>& targets,
                         StatusReply reply) {
  std::set<std::string> namespaces;
  if (targets.empty()) namespaces.insert(who.proc.nspace);
  for (const ProcId& target : targets) {
    if (target.rank != kRankWildcard) {
      return reply(Status(kErrNotSupported,
                          "the host ends whole jobs, not single ranks"));
    }
    namespaces.insert(target.nspace);
  }
  for (const std::string& nspace : namespaces) {
    if (!jobs_.contains(nspace)) {
      return reply(Status(kErrNotFound, "there is no job " + nspace));
    }
  }
  for (const std::string& nspace : namespaces) {
    sink_->OnInput(core::KillRequested{
        nspace, kErrJobAborted,
        ToString(who.proc) + " called abort with status " +
            std::to_string(status) + (message.empty() ? "" : ": ") + message});
  }
  reply(Status());
}

void EmbeddedHost::Spawn(const Requester& who, const MapRequest& job,
                         NspaceReply reply) {
  MapRequest request = job;
  request.parent = who.proc;
  request.uid = who.uid;
  request.gid = who.gid;
  Result<std::shared_ptr<const JobSpec>> planned = Plan(std::move(request));
  if (!planned.ok()) return reply(planned.status(), "");
  spawning_[(*planned)->nspace] = {*planned, std::move(reply)};
  sink_->OnInput(core::LaunchRequested{*planned});
}

}  // namespace canopy::host
