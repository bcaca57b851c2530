#include "tests/sim/launchers.h"

#include <memory>
#include <utility>

#include "server/core/step/control_inputs.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

Launchers::Launchers(uint32_t nodes, const Settings& settings,
                     const JobCatalog& jobs, AgentInputs& inputs)
    : settings_(settings), jobs_(jobs), inputs_(inputs), nodes_(nodes) {}

void Launchers::Launch(NodeId controller, const JobSpec& job) {
  if (settings_.persists) nodes_[controller].control[job.nspace] = {};
  inputs_.Post(controller, LaunchRequested{std::make_shared<const JobSpec>(job),
                                           settings_.persists});
}

void Launchers::On(NodeId node, JobChanged& a) {
  job_changes_.push_back(a);
  if (a.phase != JobPhase::kEnded) return;
  nodes_[node].control.erase(a.nspace);
  if (settings_.persists) nodes_[node].over.insert(a.nspace);
}

void Launchers::On(NodeId node, DeliverOutput& a) {
  delivered_[{a.nspace, a.rank}] += a.data.size();
  if (a.data.empty()) return;
  inputs_.Post(node, OutputConsumed{a.nspace, a.rank, a.data.size()});
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
