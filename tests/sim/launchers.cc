#include "tests/sim/launchers.h"

#include <memory>
#include <utility>

#include "server/core/event/lifecycle.h"
#include "server/core/step/control_inputs.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

Launchers::Launchers(uint32_t nodes, const Settings& settings,
                     const JobCatalog& jobs, AgentInputs& inputs)
    : settings_(settings), jobs_(jobs), inputs_(inputs), nodes_(nodes) {}

void Launchers::Launch(NodeId controller, const JobSpec& job) {
  nodes_[controller].controlled.insert(job.nspace);
  if (settings_.persists) nodes_[controller].control[job.nspace] = {};
  inputs_.Post(controller, LaunchRequested{std::make_shared<const JobSpec>(job),
                                           settings_.persists});
}

void Launchers::On(NodeId node, JobChanged& a) {
  job_changes_.push_back(a);
  if (settings_.options.announces_jobs) Announce(node, a);
  if (a.phase != JobPhase::kEnded) return;
  nodes_[node].controlled.erase(a.nspace);
  nodes_[node].control.erase(a.nspace);
  if (settings_.persists) nodes_[node].over[a.nspace] = a;
}

void Launchers::Announce(NodeId node, const JobChanged& change) {
  const auto raise = [&](int code) {
    const Bytes info = LifecycleInfo({change.nspace, kRankWildcard}, nullptr);
    inputs_.Post(node, JobLifecycleEvent(change.nspace, code, info, {}));
  };
  if (change.procs_started > 0) raise(kEventJobStart);
  if (change.procs_started == jobs_.Find(change.nspace).procs.size()) {
    raise(kEventLaunchComplete);
  }
  if (change.phase != JobPhase::kEnded) return;
  const int code = CodeOfJobEnd(change.status);
  if (code != 0) raise(code);
  raise(kEventJobEnd);
}

void Launchers::AnnounceAgain(NodeId node) {
  if (!settings_.options.announces_jobs) return;
  for (const auto& [nspace, change] : nodes_[node].over) {
    Announce(node, change);
  }
}

void Launchers::On(NodeId node, DeliverOutput& a) {
  const uint64_t size = a.data.size() + a.redirected;
  delivered_[{a.nspace, a.rank}] += size;
  if (size == 0) return;
  inputs_.Post(node, OutputConsumed{a.nspace, a.rank, size});
}

void Launchers::On(NodeId node, PersistControlState& a) {
  const auto it = nodes_[node].control.find(a.nspace);
  if (it != nodes_[node].control.end()) it->second = a.state;
}

uint64_t Launchers::delivered(const ProcId& proc) const {
  const auto it = delivered_.find(proc);
  return it == delivered_.end() ? 0 : it->second;
}

void Launchers::Reset(NodeId node) { nodes_[node] = Node(); }

void Launchers::Reattach(NodeId controller, const std::string& nspace,
                         std::optional<uint64_t> input_begin) {
  const JobSpec& job = jobs_.Find(nspace);
  std::vector<uint64_t> received(job.nodes.size());
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    received[job.procs[rank].node] += delivered({nspace, rank});
  }
  inputs_.Post(controller,
               LauncherReattached{nspace, std::move(received), input_begin});
}

}  // namespace canopy::sim
