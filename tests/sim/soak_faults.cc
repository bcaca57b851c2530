// The faults that the soak injects into processes and agents.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr int kSegfault = 11;
constexpr uint32_t kMaxAdded = 4;  // in one run
constexpr TimeNs kSettle = 120 * kMs;

}  // namespace

NodeId Soak::RandomNode(bool alive) {
  for (int i = 0; i < 20; ++i) {
    const auto node = static_cast<NodeId>(Random(result_.nodes));
    if (cluster_.members().alive(node) == alive) return node;
  }
  return kNoNode;
}

uint32_t Soak::NumAlive() const {
  uint32_t count = 0;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    count += cluster_.members().alive(node) ? 1 : 0;
  }
  return count;
}

std::optional<ProcId> Soak::RandomProc() {
  if (actors_.empty()) return std::nullopt;
  auto it = actors_.begin();
  std::advance(it, static_cast<long>(Random(actors_.size())));
  return it->first;
}

// Marks the jobs that the loss of a node may end.
void Soak::HarmNode(NodeId node) {
  for (const auto& job : jobs_) {
    if (!job->launched) continue;
    const bool there = std::ranges::any_of(
        job->spec.nodes, [&](const JobNode& n) { return n.agent == node; });
    if (there || job->controller == node) job->harmed = true;
  }
}

void Soak::CutOff() {
  std::set<NodeId> side;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    if (node != cluster_.members().root() && OneIn(2)) side.insert(node);
  }
  std::string text = "split off";
  for (const NodeId node : side) {
    HarmNode(node);
    text += " " + std::to_string(node);
  }
  // The two sides may treat a job that spans them differently.
  for (const auto& job : jobs_) job->harmed |= job->launched;
  result_.faults.push_back(text);
  operations_.ForEach([&](const Operation& o) {
    const auto cut = std::ranges::count_if(
        o.nodes, [&](NodeId node) { return side.contains(node); });
    const bool apart = cut > 0 && static_cast<size_t>(cut) < o.nodes.size();
    if (apart) Hit(o, Fault::kLinkLost);
  });
  cluster_.Split(side);
  split_ = true;
  const TimeNs heal = cluster_.now() + (20 + Random(200)) * kMs;
  cluster_.At(heal, [this] {
    cluster_.Heal();
    split_ = false;
  });
}

void Soak::LoseNode(NodeId node) {
  any_fault_ = true;
  HarmNode(node);
  HitNode(node, Fault::kAgentLost, Fault::kRootLost);
  std::vector<ProcId> gone;
  for (const auto& [p, actor] : actors_) {
    const auto& spec = actor.job->spec;
    if (spec.nodes[spec.procs[p.rank].node].agent == node) gone.push_back(p);
  }
  cluster_.KillNode(node);
  operations_.OnAgentGone(node);
  for (const ProcId& p : gone) {
    actors_.erase(p);
    operations_.OnExit(p);
  }
}

bool Soak::AddNode() {
  if (split_ || num_added_ >= kMaxAdded) return false;
  ++num_added_;
  Note("node " + std::to_string(result_.nodes) + " is added");
  operations_.ForEach([&](const Operation& o) { Hit(o, Fault::kMemberJoins); });
  cluster_.AddNode(FreeName());
  ++result_.nodes;
  return true;
}

void Soak::JoinAgain(NodeId node) {
  any_fault_ = cut_off_ = true;
  HarmNode(node);
  operations_.ForEach([&](const Operation& o) {
    if (o.nodes.contains(node)) Hit(o, Fault::kLinkLost);
  });
  cluster_.Rejoin(node);
}

void Soak::Crash(const ProcId& proc) {
  actors_.at(proc).job->harmed = true;
  HitProc(proc);
  cluster_.shims().Exit(proc, kSegfault);
}

// Makes the process call PMIx_Abort and then wait until it is ended.
void Soak::Abort(const ProcId& proc) {
  actors_.at(proc).job->harmed = true;
  cluster_.clients().Abort(proc, kAbortStatus, "enough");
}

void Soak::Signal(PlannedJob& job) {
  ++job.signals;
  cluster_.Input(job.controller, SignalRequested{job.spec.nspace, kSignal, {}});
}

// Restarts one agent at a time.
void Soak::Restart() {
  if (cluster_.now() < settled_) return;
  const auto node = OneIn(3) ? cluster_.members().root()
                             : static_cast<NodeId>(Random(result_.nodes));
  Restart(node);
}

void Soak::Restart(NodeId node) {
  if (!cluster_.members().alive(node)) return;
  const std::string text = "restart of node " + std::to_string(node);
  result_.faults.push_back(text);
  if (options_.verbose) fprintf(stderr, "%s\n", text.c_str());
  HitNode(node, Fault::kAgentRestarted, Fault::kRootRestarted);
  operations_.OnAgentGone(node);
  cluster_.RestartNode(node);
  settled_ = cluster_.now() + kSettle;
}

void Soak::Note(const std::string& fault) {
  result_.faults.push_back(fault + " at step " + std::to_string(result_.steps));
  if (options_.verbose) {
    fprintf(stderr, "%s\n", result_.faults.back().c_str());
  }
}

void Soak::RandomFault() {
  if (options_.restarts && OneIn(2)) return Restart();
  --faults_left_;
  if (with_members_ && RandomMember(3) == 0) return RandomMemberFault();
  const uint64_t kind = Random(14);
  const std::optional<ProcId> proc = RandomProc();
  const NodeId node = RandomNode(true);
  if (kind <= 1 && proc) {
    Note("crash of " + ToString(*proc));
    return Crash(*proc);
  }
  if (options_.restarts && kind <= 8) return Restart();
  if (!FaultOfAgent(kind, node) && proc) FaultOfProcess(kind, *proc);
}

// Returns false if the fault is not possible now, or is of another kind.
bool Soak::FaultOfAgent(uint64_t kind, NodeId node) {
  if (kind <= 4 && node != kNoNode && NumAlive() > 1 && !split_) {
    Note("loss of node " + std::to_string(node));
    LoseNode(node);
  } else if (kind == 5 && !split_ && RandomNode(false) != kNoNode) {
    const NodeId back = RandomNode(false);
    if (back == kNoNode || cluster_.members().removed(back)) return true;
    Note("return of node " + std::to_string(back));
    cluster_.ReviveNode(back);
  } else if (options_.rejoins && kind == 6 && node != kNoNode &&
             node != cluster_.members().root() && !split_) {
    Note("node " + std::to_string(node) + " joins again");
    JoinAgain(node);
  } else if (options_.rejoins && kind == 7 && !split_) {
    any_fault_ = cut_off_ = true;
    CutOff();
  } else if (kind == 13) {
    return AddNode();
  } else if (kind == 8 && node != kNoNode) {
    Note("stall of the link above " + std::to_string(node));
    cluster_.network().Stall(node, (5 + Random(100)) * kMs);
  } else {
    return false;
  }
  return true;
}

void Soak::FaultOfProcess(uint64_t kind, const ProcId& proc) {
  Actor& actor = actors_.at(proc);
  if (kind == 9 && actor.connected) {
    Note("abort by " + ToString(proc));
    Abort(proc);
  } else if (kind >= 10 && kind <= 11) {
    Note("signal to " + actor.job->spec.nspace);
    Signal(*actor.job);
  } else {
    Note(ToString(proc) + " stands still");
    actor.stopped = actor.job->stopped = actor.job->harmed = true;
  }
}

}  // namespace canopy::sim
