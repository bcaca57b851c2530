#include "server/core/job_state.h"

#include <algorithm>
#include <set>

namespace canopy::core {

bool LaunchPhase::Complete(const std::vector<NodeId>& asked) const {
  return std::all_of(asked.begin(), asked.end(),
                     [this](NodeId n) { return answers_.contains(n); });
}

namespace {

// Joins a note with an equal one, if there is one.
void AddNote(const ProgramNote& note, std::vector<ProgramNote>* notes) {
  const auto equal = std::ranges::find_if(*notes, [&](const ProgramNote& n) {
    return n.reason == note.reason && n.detail == note.detail;
  });
  if (equal == notes->end()) {
    if (notes->size() < kMaxProgramNotes) notes->push_back(note);
    return;
  }
  equal->count += note.count;
  equal->nodes.insert(equal->nodes.end(), note.nodes.begin(), note.nodes.end());
  std::ranges::sort(equal->nodes);
  equal->nodes.resize(std::min(equal->nodes.size(), kMaxNamedNodes));
}

}  // namespace

PhaseAnswer LaunchPhase::Sum(const std::vector<NodeId>& asked) const {
  PhaseAnswer sum;
  for (const auto& [from, answer] : answers_) {
    // The answer of a node asked earlier is included in another's.
    if (std::ranges::count(asked, from) == 0) continue;
    sum.count += answer.count;
    for (const NodeError& e : answer.errors) {
      if (sum.errors.size() < kMaxNodeErrors) sum.errors.push_back(e);
    }
    for (const ProgramNote& note : answer.notes) AddNote(note, &sum.notes);
  }
  return sum;
}

bool JobState::takes_input() const {
  if (!has_local() || spec->stdin_target == StdinTarget::kNone) return false;
  if (spec->stdin_target == StdinTarget::kAll) return true;
  return spec->stdin_rank < spec->procs.size() &&
         spec->procs[spec->stdin_rank].node == local_node;
}

std::vector<NodeId> JobState::Asked(NodeId self) const {
  std::vector<NodeId> asked = children;
  if (has_local()) asked.push_back(self);
  return asked;
}

NodeId JobParent(const Tree& tree, NodeId self, NodeId controller) {
  if (self == controller || !tree.alive(controller)) return kNoNode;
  return tree.NextHop(self, controller);
}

bool LeadsOver(const Tree& tree, NodeId from, NodeId to, NodeId via) {
  for (NodeId at = from; at != kNoNode && at != to; at = tree.NextHop(at, to)) {
    if (at == via) return true;
  }
  return to == via;
}

std::vector<NodeId> JobRoute(const Tree& tree, NodeId self, NodeId controller) {
  std::vector<NodeId> route;
  for (NodeId at = JobParent(tree, self, controller); at != kNoNode;
       at = JobParent(tree, at, controller)) {
    route.push_back(at);
  }
  return route;
}

std::vector<NodeId> JobChildren(const Tree& tree, NodeId self,
                                const JobState& job) {
  const NodeId up = JobParent(tree, self, job.controller);
  std::set<NodeId> children;
  for (const JobNode& node : job.spec->nodes) {
    if (node.agent == self || !tree.alive(node.agent) ||
        job.lost.contains(node.agent)) {
      continue;
    }
    const NodeId hop = tree.NextHop(self, node.agent);
    if (hop != up && hop != kNoNode) children.insert(hop);
  }
  return {children.begin(), children.end()};
}

std::vector<Rank> RanksOnNode(const JobState& job, uint32_t node,
                              const std::vector<Rank>& ranks) {
  if (ranks.empty()) return job.layout->ranks_on(node);
  std::vector<Rank> out;
  for (const Rank rank : ranks) {
    if (rank < job.spec->procs.size() && job.spec->procs[rank].node == node) {
      out.push_back(rank);
    }
  }
  return out;
}

std::vector<NodeId> ChildrenTowards(const Tree& tree, NodeId self,
                                    const JobState& job,
                                    const std::vector<Rank>& ranks) {
  if (ranks.empty()) return job.children;
  std::set<NodeId> hops;
  for (const Rank rank : ranks) {
    if (rank >= job.spec->procs.size()) continue;
    const NodeId agent = job.spec->nodes[job.spec->procs[rank].node].agent;
    if (agent == self || !tree.alive(agent)) continue;
    hops.insert(tree.NextHop(self, agent));
  }
  std::vector<NodeId> out;
  for (const NodeId child : job.children) {
    if (hops.contains(child)) out.push_back(child);
  }
  return out;
}

}  // namespace canopy::core
