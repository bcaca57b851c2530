#include "tests/sim/spawn_host.h"

#include <sstream>

#include "common/status.h"
#include "server/core/step/control_inputs.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

Bytes SpawnCallFor(const std::vector<NodeId>& agents) {
  std::string out;
  for (const NodeId agent : agents) out += std::to_string(agent) + " ";
  return Bytes(std::move(out));
}

SpawnHost::SpawnHost(JobCatalog& jobs, const Membership& members,
                     AgentInputs& inputs, Oracle& oracle,
                     StandardInput& standard_input, Launchers& launchers,
                     Errors& errors)
    : jobs_(jobs),
      members_(members),
      inputs_(inputs),
      oracle_(oracle),
      standard_input_(standard_input),
      launchers_(launchers),
      errors_(errors) {}

void SpawnHost::On(NodeId node, HostSpawn& a) {
  const Id id{a.proc, a.request};
  oracle_.OnSpawn(a.request, a.call.view());
  CheckNotExecuted(id);
  if (!place_) return Execute(node, a, {});
  if (!waiting_.try_emplace(id, node).second)
    return;  // it was already requested
  const Placement placement = place_(a);
  inputs_.PostCallback(placement.after, node,
                       [this, node, spawn = a, placement, id] {
                         if (waiting_.erase(id) > 0)
                           Execute(node, spawn, placement);
                       });
}

NodeId SpawnHost::PlaceFor(NodeId wanted, NodeId controller) const {
  if (members_.InService(wanted)) return wanted;
  for (NodeId node = 0; node < members_.size(); ++node) {
    const bool is_known =
        node == controller || members_.Knows(controller, node);
    if (members_.InService(node) && is_known) return node;
  }
  return wanted;
}

void SpawnHost::CheckNotExecuted(const Id& id) {
  for (const auto& [nspace, spawned] : spawned_) {
    if (spawned.id != id || (spawned.over && !spawned.ran)) continue;
    errors_.push_back("a spawn was executed again that has become " + nspace);
  }
}

void SpawnHost::Execute(NodeId node, const HostSpawn& spawn,
                        const Placement& placement) {
  const Id id{spawn.proc, spawn.request};
  if (placement.status != kSuccess) {
    return Answer(node, {spawn.proc, spawn.request, placement.status, ""},
                  placement.answered_twice);
  }
  std::vector<NodeId> agents;
  std::istringstream call{std::string(spawn.call.view())};
  for (NodeId agent = 0; call >> agent;) {
    agents.push_back(PlaceFor(agent, node));
  }
  if (agents.empty()) {
    return Answer(node, {spawn.proc, spawn.request, kErrJobFailedToMap, ""},
                  false);
  }
  JobSpec job = MakeJob("spawned" + std::to_string(++last_), agents);
  job.parent = spawn.proc;
  job.uid = jobs_.Find(spawn.proc.nspace).uid;
  executed_[id].push_back(job.nspace);
  spawned_[job.nspace] = {node, id, job.procs.size()};
  spawned_[job.nspace].twice = placement.answered_twice;
  jobs_.Add(job);
  oracle_.OnJob(job);
  standard_input_.Open(job.nspace, node);
  launchers_.Launch(node, job);
}

void SpawnHost::Answer(NodeId node, const SpawnDone& done, bool twice) {
  inputs_.Post(node, done);
  if (twice) {
    inputs_.Post(node, SpawnDone{done.proc, done.request, kErrTimeout, ""});
  }
}

void SpawnHost::On(NodeId node, JobChanged& a) {
  if (a.phase == JobPhase::kEnded) {
    std::erase_if(waiting_, [&](const auto& entry) {
      return entry.first.first.nspace == a.nspace;
    });
  }
  const auto it = spawned_.find(a.nspace);
  if (it == spawned_.end()) return;
  Spawned& spawned = it->second;
  spawned.ran |= a.procs_started == spawned.num_procs;
  spawned.over |= a.phase == JobPhase::kEnded;
  if (spawned.answered || (!spawned.ran && !spawned.over)) return;
  spawned.answered = true;
  const auto& [proc, request] = spawned.id;
  Answer(node,
         {proc, request, spawned.ran ? kSuccess : kErrJobFailedToLaunch,
          spawned.ran ? a.nspace : ""},
         spawned.twice);
}

void SpawnHost::LoseAgent(NodeId node) {
  std::erase_if(waiting_,
                [node](const auto& entry) { return entry.second == node; });
}

std::vector<Input> SpawnHost::Recovered(NodeId node) {
  std::vector<Input> out;
  for (auto& [nspace, spawned] : spawned_) {
    if (spawned.node != node || (spawned.over && !spawned.ran)) continue;
    const auto& [proc, request] = spawned.id;
    out.push_back(SpawnRecovered{proc, request});
    if (spawned.over) {
      out.push_back(SpawnDone{proc, request, kSuccess, nspace});
    } else {
      spawned.answered = false;
    }
  }
  return out;
}

void SpawnHost::Reset(NodeId node) {
  LoseAgent(node);
  std::erase_if(spawned_, [node](const auto& entry) {
    return entry.second.node == node;
  });
}

}  // namespace canopy::sim
