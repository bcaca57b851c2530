// Injects faults at chosen moments. A cell of the fault matrix (fault_matrix.h)
// is a phase of operations and a fault. Each run has a list of cells. It
// injects the fault of a cell while an operation of a process is in the phase
// of the cell.
#include <algorithm>
#include <iterator>

#include "tests/sim/lies.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint64_t kMaxEvents = 4;  // between the aim and the strike
constexpr TimeNs kLate = 30 * kMs;
constexpr uint64_t kMaxLies = 8;

template <typename Set>
auto OneOf(const Set& set, uint64_t random) {
  auto it = set.begin();
  std::advance(it, static_cast<long>(random % set.size()));
  return *it;
}

// Returns whether the fault is injected when a message is sent.
bool IsOfMessages(Fault fault) {
  return fault == Fault::kLate || fault == Fault::kDoubled;
}

}  // namespace

void Soak::Watch() {
  Hooks& hooks = cluster_.hooks();
  hooks.on_request = [this](const ProcId& proc, RequestId request,
                            const Input& input, bool again) {
    if (!again) return operations_.OnRequest(proc, request, input);
    operations_.OnAskedAgain(request);
  };
  hooks.on_input = [this](NodeId node, const Input& input) {
    operations_.OnInput(node, input);
  };
  hooks.on_actions = [this](NodeId node, const Actions& actions) {
    operations_.OnActions(node, actions);
  };
  cluster_.network().set_on_send(
      [this](const PeerMessage& message, const Fate& fate) {
        return OnSend(message, fate);
      });
}

// ------------------------------------------------------------------- hits ---

void Soak::Hit(const Operation& o, Fault fault) {
  result_.cells.Add(operations_.PhaseOf(o), fault);
}

void Soak::HitNode(NodeId node, Fault fault, Fault of_root) {
  const bool is_root = node == cluster_.members().root();
  operations_.ForEach([&](const Operation& o) {
    if (is_root) {
      Hit(o, of_root);
    } else if (o.nodes.contains(node)) {
      Hit(o, fault);
    }
  });
}

void Soak::HitProc(const ProcId& proc) {
  operations_.ForEach([&](const Operation& o) {
    if (o.procs.contains(proc)) Hit(o, Fault::kProcDies);
  });
}

// ------------------------------------------------------------------- aims ---

Fate Soak::OnSend(const PeerMessage& message, Fate fate) {
  const Operation* o = operations_.OperationOf(message);
  if (o == nullptr) return fate;
  const Phase phase = operations_.PhaseOf(*o);
  if (fate.lost) {
    Hit(*o, Fault::kLinkLost);
    return fate;
  }
  if (std::erase(aims_, Cell{phase, Fault::kLate}) > 0) fate.late += kLate;
  if (std::erase(aims_, Cell{phase, Fault::kDoubled}) > 0) {
    fate.twice = duplicates_ = true;
  }
  if (fate.late > 0) Hit(*o, Fault::kLate);
  if (fate.twice) Hit(*o, Fault::kDoubled);
  return fate;
}

void Soak::TakeAim() {
  const std::vector<Operations::Number> touched = operations_.TakeTouched();
  // A request that is repeated counts as a fault in each phase that follows.
  for (const Operations::Number number : touched) {
    const Operation* o = operations_.Find(number);
    if (o != nullptr && o->again) Hit(*o, Fault::kAskedAgain);
  }
  if (aims_.empty()) return;
  const bool settled = cluster_.now() >= settled_;
  for (const Operations::Number number : touched) {
    const Operation* o = aimed_ ? nullptr : operations_.Find(number);
    if (o == nullptr) continue;
    const Phase phase = operations_.PhaseOf(*o);
    // An operation in a short phase is never passed over, because the phase may
    // soon end.
    const bool is_short = IsShort(phase);
    if (!is_short && OneIn(3)) continue;
    const auto aim = std::ranges::find_if(aims_, [&](const Cell& cell) {
      return IsIn(*o, cell) && !IsOfMessages(cell.fault) &&
             (settled || !NeedsRestarts(cell.fault));
    });
    if (aim == aims_.end()) continue;
    aimed_ = {number, *aim, is_short ? 0 : Random(kMaxEvents)};
  }
  if (!aimed_ || aimed_->events-- > 0) return;
  const Aimed aimed = *aimed_;
  aimed_.reset();
  const Operation* o = operations_.Find(aimed.operation);
  if (o == nullptr || !IsIn(*o, aimed.cell)) return;
  if (Strike(aimed.cell, *o)) std::erase(aims_, aimed.cell);
}

// Returns whether the fault would hit the operation in that phase. A lookup is
// over before its caller can repeat it, unless the caller's agent is the owner
// of the key: in that case the successor must first pull its publications from
// the members.
bool Soak::IsIn(const Operation& o, const Cell& cell) const {
  const Phase phase = operations_.PhaseOf(o);
  if (cell.phase == phase) return true;
  return cell == Cell{Phase::kLookupPulling, Fault::kAskedAgain} &&
         phase == Phase::kLookupWaiting &&
         o.owners.contains(cluster_.NodeOf(o.proc));
}

// Returns false if the fault is not possible now.
bool Soak::Strike(const Cell& cell, const Operation& o) {
  switch (cell.fault) {
    case Fault::kProcDies:
      return StrikeProc(o);
    case Fault::kLie:
      return LieAbout(o);
    case Fault::kMemberJoins:
      return AddNode();
    case Fault::kMemberLeaves:
    case Fault::kForwarderLeaves:
    case Fault::kRootLeaves:
      return StrikeLeave(cell.fault, &o);
    default:
      return StrikeNode(cell.fault, o);
  }
}

bool Soak::StrikeProc(const Operation& o) {
  std::vector<ProcId> procs;
  for (const ProcId& proc : o.procs) {
    if (actors_.contains(proc)) procs.push_back(proc);
  }
  if (procs.empty()) return false;
  const ProcId proc = OneOf(procs, rng_());
  Note("crash of " + ToString(proc));
  Crash(proc);
  return true;
}

bool Soak::StrikeNode(Fault fault, const Operation& o) {
  const NodeId root = cluster_.members().root();
  const bool of_root =
      fault == Fault::kRootLost || fault == Fault::kRootRestarted;
  std::vector<NodeId> nodes;
  for (const NodeId node : o.nodes) {
    if (node != root && cluster_.members().alive(node)) nodes.push_back(node);
  }
  if (fault == Fault::kAskedAgain) nodes = {cluster_.NodeOf(o.proc)};
  if (of_root) nodes = {root};
  if (nodes.empty()) return false;
  const NodeId node = OneOf(nodes, rng_());
  if (NeedsRestarts(fault)) {
    if (cluster_.now() < settled_) return false;
    Restart(node);
    return true;
  }
  if (split_ || NumAlive() < 2) return false;
  if (fault == Fault::kLinkLost) {
    Note("node " + std::to_string(node) + " joins again");
    JoinAgain(node);
  } else {
    Note("loss of node " + std::to_string(node));
    LoseNode(node);
  }
  return true;
}

// Sends false information about the operation, and about other operations of
// the same kind. Most requests are not repeated, so false information about a
// single operation would rarely concern a repeated request.
bool Soak::LieAbout(const Operation& o) {
  std::vector<ProcId> liars;
  for (const auto& [proc, actor] : actors_) {
    if (actor.connected && !actor.stopped) liars.push_back(proc);
  }
  if (liars.empty()) return false;
  uint64_t left = kMaxLies;
  const auto tell = [&](const Operation& about) {
    --left;
    TellLie(about, OneOf(liars, rng_()));
  };
  tell(o);
  operations_.ForEach([&](const Operation& other) {
    if (&other != &o && other.kind == o.kind && left > 0) tell(other);
  });
  // The false information is delivered before any other event, because after
  // another event the sending agent may have a real request to answer.
  while (cluster_.RunNext(cluster_.now())) continue;
  return true;
}

void Soak::TellLie(const Operation& o, const ProcId& liar) {
  Lie lie{o, {}, liar, cluster_.NodeOf(o.proc), kNoNode, {}, {}};
  for (const auto& job : jobs_) {
    if (job->spec.nspace == o.proc.nspace) lie.controller = job->controller;
    lie.controllers.insert(job->controller);
    const bool known = std::ranges::any_of(
        job->spec.nodes,
        [&](const JobNode& node) { return node.agent == lie.caller; });
    if (known) lie.known.insert(job->spec.nspace);
  }
  const NodeId agent = RandomNode(true);
  const bool takes_part = o.nodes.contains(agent);
  if (agent != kNoNode && !takes_part && agent != cluster_.members().root()) {
    lie.agent = agent;
  }
  Note("a lie of " + ToString(lie.process));
  Hit(o, Fault::kLie);
  Tell(lie, &cluster_);
}

}  // namespace canopy::sim
