// Members that are drained, removed and added during a run. The random numbers
// of these faults have a source of their own, so that the runs of seeds without
// them stay as they are.
#include <algorithm>
#include <set>

#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint32_t kMaxRemoved = 6;  // in one run

// One member in `kReserved` has no ranks of the planned jobs.
constexpr uint64_t kReserved = 3;

}  // namespace

// Chooses the members on which no planned job has ranks.
std::set<NodeId> Soak::ReservedNodes() {
  std::set<NodeId> out;
  for (NodeId node = 1; with_members_ && node < result_.nodes; ++node) {
    if (RandomMember(kReserved) == 0) out.insert(node);
  }
  return out;
}

// Replaces the nodes of a job that are drained or removed when it is launched,
// as the mapper leaves them out.
void Soak::PlaceAgain(PlannedJob& job) {
  const Membership& members = cluster_.members();
  for (JobNode& node : job.spec.nodes) {
    for (NodeId other = 0;
         other < members.size() && !members.InService(node.agent); ++other) {
      const bool is_free =
          std::ranges::count(job.spec.nodes, other, &JobNode::agent) == 0;
      if (!is_free || !members.alive(other) || !members.InService(other) ||
          !members.IsKnownToAll(other)) {
        continue;
      }
      node.agent = other;
      node.name = members.name(other);
    }
  }
}

// Returns the name of a removed member that no other member has, or an empty
// text.
std::string Soak::FreeName() {
  const Membership& members = cluster_.members();
  std::set<std::string> free;
  for (NodeId node = 0; node < members.size(); ++node) {
    if (members.removed(node)) free.insert(members.name(node));
  }
  for (NodeId node = 0; node < members.size(); ++node) {
    if (!members.removed(node)) free.erase(members.name(node));
  }
  return free.empty() || RandomMember(2) == 0 ? "" : *free.begin();
}

// ------------------------------------------------------------------ leaves ---

// Only the root decides, while it stays itself and most members are up.
bool Soak::MayRemove(NodeId node) const {
  const Membership& members = cluster_.members();
  return node != kNoNode && !split_ && num_removed_ < kMaxRemoved &&
         !members.removed(node) && !members.removed(members.root()) &&
         members.HasMajority() && (!members.alive(node) || NumAlive() > 2);
}

void Soak::RemoveNode(NodeId node) {
  const bool is_lost = !cluster_.members().alive(node);
  const bool is_idle = cluster_.JobsOf(node).empty();
  Note((is_lost   ? "lost node "
        : is_idle ? "idle node "
                  : "node ") +
       std::to_string(node) + " is removed");
  ++num_removed_;
  if (is_lost) return cluster_.RemoveNode(node);
  HitLeave(node);
  if (!is_idle || node == cluster_.members().root()) any_fault_ = true;
  HarmNode(node);
  cluster_.RemoveNode(node);
}

// Called before the agent leaves and its processes end.
void Soak::OnLeave(NodeId node) {
  HarmNode(node);
  operations_.OnAgentGone(node);
  std::vector<ProcId> gone;
  for (const auto& [proc, actor] : actors_) {
    if (cluster_.NodeOf(proc) == node) gone.push_back(proc);
  }
  for (const ProcId& proc : gone) {
    actors_.erase(proc);
    operations_.OnExit(proc);
  }
}

// Returns whether the agent forwards messages of the operation in which it
// takes no part: between agents that take part, or between one of them and the
// root.
bool Soak::Forwards(NodeId node, const Operation& o) const {
  if (o.nodes.contains(node)) return false;
  const Tree& tree = cluster_.members().tree();
  std::set<NodeId> ends = o.nodes;
  ends.insert(tree.root());
  std::erase_if(ends, [&](NodeId end) { return !tree.alive(end); });
  const auto below = std::ranges::count_if(
      ends, [&](NodeId end) { return tree.InSubtree(node, end); });
  const std::set<NodeId> branches = [&] {
    std::set<NodeId> out;
    for (const NodeId end : ends) {
      if (tree.InSubtree(node, end)) out.insert(tree.ChildTowards(node, end));
    }
    return out;
  }();
  return below > 0 &&
         (static_cast<size_t>(below) < ends.size() || branches.size() > 1);
}

void Soak::HitLeave(NodeId node) {
  const bool is_root = node == cluster_.members().root();
  operations_.ForEach([&](const Operation& o) {
    if (is_root) {
      Hit(o, Fault::kRootLeaves);
    } else if (o.nodes.contains(node)) {
      Hit(o, Fault::kMemberLeaves);
    } else if (Forwards(node, o)) {
      Hit(o, Fault::kForwarderLeaves);
    }
  });
}

// Returns the members whose leave is this fault of the operation. Without
// `o`, those without jobs for kForwarderLeaves, and all for kMemberLeaves.
std::vector<NodeId> Soak::LeaversOf(Fault fault, const Operation* o) const {
  const Membership& members = cluster_.members();
  if (fault == Fault::kRootLeaves) return {members.root()};
  std::vector<NodeId> out;
  for (NodeId node = 0; node < members.size(); ++node) {
    if (node == members.root() || !members.alive(node)) continue;
    const bool of_part = fault == Fault::kMemberLeaves;
    if (o != nullptr && of_part && !o->nodes.contains(node)) continue;
    if (o != nullptr && !of_part && !Forwards(node, *o)) continue;
    if (of_part || cluster_.JobsOf(node).empty()) out.push_back(node);
  }
  return out;
}

bool Soak::StrikeLeave(Fault fault, const Operation* o) {
  const std::vector<NodeId> nodes = LeaversOf(fault, o);
  if (nodes.empty()) return false;
  const NodeId node = nodes[RandomMember(nodes.size())];
  if (!MayRemove(node)) return false;
  RemoveNode(node);
  return true;
}

// ------------------------------------------------------------ random times ---

void Soak::RandomMemberFault() {
  const bool harmless = options_.restarts;
  switch (RandomMember(8)) {
    case 0:
      if (!harmless) StrikeLeave(Fault::kRootLeaves, nullptr);
      return;
    case 1:
      if (!harmless) StrikeLeave(Fault::kMemberLeaves, nullptr);
      return;
    case 2:
    case 3:
      StrikeLeave(Fault::kForwarderLeaves, nullptr);
      return;
    case 4: {
      const NodeId lost = RandomNode(false);
      if (MayRemove(lost)) RemoveNode(lost);
      return;
    }
    case 5:
      AddNode();
      return;
    default:
      return Drain();
  }
}

// Drains or resumes a member. The cores learn nothing of it; only the places of
// later processes depend on it.
void Soak::Drain() {
  const auto node = static_cast<NodeId>(RandomMember(result_.nodes));
  if (node == cluster_.members().root()) return;
  const bool drains = cluster_.members().InService(node);
  Note("node " + std::to_string(node) + (drains ? " is drained" : " resumes"));
  cluster_.SetDrained(node, drains);
}

}  // namespace canopy::sim
