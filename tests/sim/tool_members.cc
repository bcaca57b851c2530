// Members that are added and removed while tools use jobs. The random numbers
// of these faults have a source of their own, so that the runs of seeds without
// them stay as they are.
#include <algorithm>
#include <set>

#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint32_t kMaxAdded = 4;    // in one run
constexpr uint32_t kMaxRemoved = 4;  // in one run
constexpr TimeNs kMemberSettle = 120 * kMs;
constexpr uint64_t kMostMemberAims = 3;
// The seeds with these faults, as remainders.
constexpr uint64_t kMemberSeeds = 7;
constexpr uint64_t kMemberSeed = 1;
constexpr uint64_t kOtherMemberSeed = 4;

}  // namespace

void ToolSoak::AddMemberAims(uint64_t seed) {
  const uint64_t which = seed % kMemberSeeds;
  if (which != kMemberSeed && which != kOtherMemberSeed) return;
  for (uint64_t n = 1 + RandomMember(kMostMemberAims); n > 0;) {
    const uint64_t fault =
        kNumOwnToolFaults + RandomMember(kNumToolFaults - kNumOwnToolFaults);
    const ToolCell cell{static_cast<ToolPhase>(RandomMember(kNumToolPhases)),
                        static_cast<ToolFault>(fault)};
    if (!CanOccur(cell, restarts_)) continue;
    aims_.push_back(cell);
    --n;
  }
}

// Returns whether the root places processes on the node.
bool ToolSoak::MayPlaceOn(NodeId node) const {
  const Membership& members = cluster_.members();
  const uint32_t num_first = result_.nodes - num_added_;
  return members.alive(node) && members.InService(node) &&
         (node < num_first || members.IsKnownToAll(node));
}

// A root that was removed launches nothing any more.
bool ToolSoak::HasRoot() const {
  return !cluster_.members().removed(cluster_.members().root());
}

std::vector<ProcId> ToolSoak::ProcsOn(NodeId node) const {
  std::vector<ProcId> procs;
  for (const auto& [proc, tool] : tools_) {
    if (tool->spec.nspace.empty()) continue;
    if (cluster_.NodeOf(proc) == node) procs.push_back(proc);
  }
  for (const auto& job : jobs_) {
    for (const Rank rank : job->running) {
      const ProcId proc{job->spec.nspace, rank};
      if (cluster_.NodeOf(proc) == node) procs.push_back(proc);
    }
  }
  return procs;
}

// Called before the agent leaves and its processes end.
void ToolSoak::OnLeave(NodeId node) {
  Harm(node);
  for (const ProcId& proc : ProcsOn(node)) {
    cluster_.At(cluster_.now(), [this, proc] { OnExit(proc); });
  }
}

bool ToolSoak::StrikeJoin() {
  if (num_added_ >= kMaxAdded) return false;
  for (const Op& op : Ops()) {
    result_.cells.Add(op.phase, ToolFault::kMemberJoins);
  }
  Note("node " + std::to_string(cluster_.AddNode()) + " is added");
  ++num_added_;
  ++result_.nodes;
  return true;
}

bool ToolSoak::StrikeIdleLeave() {
  std::vector<NodeId> idle;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    const bool is_root = node == cluster_.members().root();
    if (!is_root && cluster_.JobsOf(node).empty()) idle.push_back(node);
  }
  return !idle.empty() && StrikeLeave(idle[RandomMember(idle.size())]);
}

void ToolSoak::HitLeave(NodeId node, bool is_idle) {
  const bool is_root = node == cluster_.members().root();
  for (const Op& op : Ops()) {
    const bool of_tool =
        !op.tool.nspace.empty() && cluster_.NodeOf(op.tool) == node;
    const bool of_job =
        std::ranges::count(op.job->spec.nodes, node, &JobNode::agent) > 0;
    const auto add = [&](ToolFault fault) {
      result_.cells.Add(op.phase, fault);
    };
    if (is_root) {
      add(ToolFault::kRootLeaves);
      continue;
    }
    if (is_idle) add(ToolFault::kIdleLeaves);
    if (of_tool) add(ToolFault::kToolAgentLeaves);
    if (of_job && !is_idle) add(ToolFault::kJobAgentLeaves);
  }
}

// Removes a member. Returns false if that is not possible now.
bool ToolSoak::StrikeLeave(NodeId node) {
  const Membership& members = cluster_.members();
  if (!members.alive(node) || members.removed(node) || !HasRoot() ||
      !members.HasMajority() || NumAlive() < 3 || num_removed_ >= kMaxRemoved) {
    return false;
  }
  const bool is_root = node == members.root();
  const bool is_idle = cluster_.JobsOf(node).empty();
  Note((is_idle ? "idle node " : "node ") + std::to_string(node) +
       " is removed");
  ++num_removed_;
  settled_ = cluster_.now() + kMemberSettle;
  any_fault_ |= !is_idle || is_root;
  root_lost_ |= is_root;
  HitLeave(node, is_idle);
  Harm(node);
  cluster_.RemoveNode(node);
  return true;
}

}  // namespace canopy::sim
