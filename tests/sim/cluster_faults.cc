// The effects of the loss, the return and the restart of agents, of cut links,
// and of members that are added and removed.
#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr TimeNs kPatience = 600'000 * kMs;

}  // namespace

void Cluster::Clear(NodeId node) {
  agents_.Stop(node);
  segments_.Reset(node);
  shims_.Reset(node);
  launchers_.Reset(node);
  spawn_host_.Reset(node);
  host_.LoseAgent(node);
  input_.Reset(node);
}

void Cluster::KillNode(NodeId node) {
  if (!members_.alive(node)) return;
  Clear(node);
  network_.OnLoss(members_.Lose(node));
}

NodeId Cluster::AddNode(std::string name) {
  const NodeId node = members_.Add(std::move(name));
  segments_.AddNode();
  shims_.AddNode();
  launchers_.AddNode();
  input_.AddNode();
  agents_.Start(node);
  LearnService(node);
  return node;
}

// --------------------------------------------------------------- removals ---

std::set<std::string> Cluster::JobsOf(NodeId node) const {
  std::set<std::string> jobs = launchers_.Controlled(node);
  for (const std::string& nspace : shims_.JobsOn(node)) jobs.insert(nspace);
  for (NodeId controller = 0; controller < members_.size(); ++controller) {
    for (const std::string& nspace : launchers_.Controlled(controller)) {
      const auto& nodes = jobs_.Find(nspace).nodes;
      if (std::ranges::count(nodes, node, &JobNode::agent) > 0) {
        jobs.insert(nspace);
      }
    }
  }
  return jobs;
}

void Cluster::RemoveNode(NodeId node) {
  members_.Remove(node);
  for (const std::string& nspace : launchers_.Controlled(node)) {
    Input(node, KillRequested{nspace, kErrJobKilledByCmd,
                              "this node was removed from the overlay"});
  }
  LeaveWhenIdle(node, now() + kPatience);
}

void Cluster::LeaveWhenIdle(NodeId node, TimeNs patience) {
  if (!members_.alive(node)) return;
  if (launchers_.Controlled(node).empty()) {
    if (hooks().on_leave) hooks().on_leave(node);
    Clear(node);
    return network_.OnLoss(members_.Leave(node));
  }
  if (now() > patience) {
    return errors_.push_back("the jobs of " + members_.name(node) +
                             " do not end, so it does not leave");
  }
  At(now() + kMs, [this, node, patience] { LeaveWhenIdle(node, patience); });
}

// ----------------------------------------------------- returns and links ---

void Cluster::ReviveNode(NodeId node) {
  agents_.Start(node);
  LearnService(node);
  members_.Return(node);
  network_.OnReturn(node);
}

void Cluster::Rejoin(NodeId node) {
  if (!members_.alive(node)) return;
  const TimeNs linked = members_.BeginRejoin(node);
  network_.Unlink(node);
  for (NodeId other = 0; other < members_.size(); ++other) {
    if (other == node) continue;
    if (members_.Unlink(node, other)) {
      agents_.Step(node, NodeStateChanged{other, false, "was cut off"});
    }
    members_.Relink(node, other, linked);
  }
  network_.Relink();
}

void Cluster::Split(const std::set<NodeId>& cut_off) {
  network_.Partition(cut_off);
  members_.Partition(cut_off);
}

void Cluster::Heal() {
  for (const NodeId node : network_.Heal()) Rejoin(node);
}

// --------------------------------------------------------------- restarts ---

void Cluster::RestartNode(NodeId node) {
  if (!members_.alive(node)) return;
  std::vector<core::Input> again = LoseInputs(node);
  network_.OnRestart(node);
  const Segments::Published published = segments_.Reset(node);
  agents_.Start(node);
  LearnService(node);
  members_.Restart(node);
  spawn_host_.LoseAgent(node);
  host_.LoseAgent(node);
  clients_.LoseAgent(shims_.RunningOn(node));
  input_.LoseAgent(node);
  Recover(node, published);
  for (core::Input& input : again) Input(node, std::move(input));
  ReattachClients(node);
}

// Removes the inputs that the predecessor has not handled. Returns the requests
// to end a job, which their sender repeats.
std::vector<core::Input> Cluster::LoseInputs(NodeId node) {
  std::vector<core::Input> again;
  queue_.RemoveIf<LocalInput>([&](const LocalInput& event) {
    if (event.node != node) return false;
    if (std::holds_alternative<KillRequested>(event.input)) {
      again.push_back(event.input);
    }
    return true;
  });
  return again;
}

void Cluster::Recover(NodeId node, const Segments::Published& published) {
  for (core::Input& input : spawn_host_.Recovered(node)) {
    agents_.Step(node, std::move(input));
  }
  std::map<std::string, Bytes> control = launchers_.ControlRecords(node);
  for (const std::string& nspace : shims_.JobsOn(node)) {
    RecoverLocal(node, nspace, published, &control);
  }
  for (const auto& [nspace, state] : control) {
    RecoverControl(node, nspace, state);
  }
  launchers_.AnnounceAgain(node);
  ReattachLaunchers(node);
}

// Recovers a job with processes on the node, and removes the job's record from
// *control.
void Cluster::RecoverLocal(NodeId node, const std::string& nspace,
                           const Segments::Published& published,
                           std::map<std::string, Bytes>* control) {
  JobRecovered in;
  in.job = std::make_shared<const JobSpec>(jobs_.Find(nspace));
  shims_.AddRecovered(node, nspace, &in);
  for (const auto& [proc, data] : published) {
    if (proc.nspace == nspace && jobs_.NodeOf(proc) != node) {
      in.published.push_back(data);
    }
  }
  if (const auto own = control->extract(nspace)) in.control = own.mapped();
  in.over = launchers_.IsOver(node, nspace);
  agents_.Step(node, std::move(in));
  shims_.ReportAgain(node, nspace);
  input_.ReportAgain(node, nspace);
}

// Recovers a controlled job that has no process on the node.
void Cluster::RecoverControl(NodeId node, const std::string& nspace,
                             const Bytes& control) {
  JobRecovered in;
  in.job = std::make_shared<const JobSpec>(jobs_.Find(nspace));
  in.has_shim = false;
  in.control = control;
  agents_.Step(node, std::move(in));
}

void Cluster::ReattachLaunchers(NodeId node) {
  for (const auto& [nspace, state] : launchers_.ControlRecords(node)) {
    At(now() + random_.Delay(10),
       [this, node, nspace = nspace, start = members_.start(node)] {
         if (members_.start(node) != start) return;
         launchers_.Reattach(node, nspace, input_.BeginOf(nspace));
         input_.OfferAgain(nspace);
       });
  }
}

void Cluster::ReattachClients(NodeId node) {
  for (const ProcId& proc : shims_.RunningOn(node)) {
    if (!clients_.IsAway(proc)) continue;
    At(now() + random_.Delay(10), [this, proc] {
      if (clients_.IsAway(proc) && shims_.IsRunning(proc)) {
        clients_.Reattach(proc);
      }
    });
  }
}

}  // namespace canopy::sim
