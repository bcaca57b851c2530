// What ends a collective badly: deaths, losses and deadlines; and what is told
// about those that still wait.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/collective.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxNamed = 8;  // processes in a text

std::string Names(const std::vector<ProcId>& procs) {
  std::string out;
  for (size_t i = 0; i < procs.size() && i < kMaxNamed; ++i) {
    if (i > 0) out += ", ";
    out += ToString(procs[i]);
  }
  if (procs.size() > kMaxNamed) {
    out += " and " + std::to_string(procs.size() - kMaxNamed) + " more";
  }
  return out;
}

std::string Title(const CollectiveId& id, uint64_t sequence) {
  return std::string(NameOf(id.op)) + " #" + std::to_string(sequence) + " of " +
         Names(id.participants);
}

bool Includes(const std::vector<ProcId>& procs, const ProcId& proc) {
  return std::binary_search(procs.begin(), procs.end(), proc) ||
         std::binary_search(procs.begin(), procs.end(),
                            ProcId{proc.nspace, kRankWildcard});
}

}  // namespace

bool Collectives::EndIfGone(Turn& turn, Set& set, uint64_t sequence) {
  Place(set);
  const bool nobody_gone = NobodyIsGone(set.id.participants, jobs_);
  const bool no_node_lost = tree_.version() == 0;
  if (nobody_gone && no_node_lost) return false;
  const Instance& instance = set.active.at(sequence);
  std::set<NodeId> awaited;  // nodes that this agent answers for
  const auto& nodes = set.place.top ? set.members->nodes : set.place.below;
  for (const NodeId node : nodes) {
    if (!instance.parts.contains(node)) awaited.insert(node);
  }
  bool in_order = true;
  std::vector<ProcId> missing = MembersWhere(
      set.id.participants, jobs_, [&](NodeId node, const RankState& state) {
        if (node == self_ || !awaited.contains(node)) return false;
        if (!state.gone() && tree_.alive(node)) return false;
        in_order &= state.gone() && state.finalized;
        return true;
      });
  for (size_t i = 0; i < set.members->local.size(); ++i) {
    const ProcId& proc = set.members->local[i];
    const RankState& state = jobs_.Find(proc.nspace)->ranks[proc.rank];
    if (instance.arrived[i] || !state.gone()) continue;
    in_order &= state.finalized;
    missing.push_back(proc);
  }
  if (missing.empty()) return false;
  Fail(turn, set, sequence, in_order ? kErrProcTermWoSync : kErrProcAborted,
       std::move(missing), kNoNode);
  return true;
}

void Collectives::Fail(Turn& turn, Set& set, uint64_t sequence, int status,
                       std::vector<ProcId> missing, NodeId except) {
  Place(set);
  const NodeId parent = set.place.parent;
  if (parent != kNoNode && parent != except) {
    CollectiveUp up{set.id, status, {}, missing};
    up.id.sequence = sequence;
    Send(turn, parent, std::move(up));
  }
  Release(turn, set, sequence, status, std::move(missing), except);
}

void Collectives::OnRankGone(TimeNs now, const ProcId& proc, Actions* actions) {
  Turn turn{now, *actions};
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr) return;
  for (auto& [id, set] : sets_) {
    if (!set.members || !Includes(id.participants, proc)) continue;
    std::vector<uint64_t> active;
    for (const auto& [sequence, instance] : set.active) {
      active.push_back(sequence);
    }
    for (const uint64_t sequence : active) {
      if (set.active.contains(sequence)) EndIfGone(turn, set, sequence);
    }
  }
  const RankState& state = job->ranks[proc.rank];
  if (state.lost && !state.ended && !job->ending) ReportLost(turn, proc);
}

// A local rank that lives but can not speak any more: nobody else can tell
// those who wait for it, or who will.
void Collectives::ReportLost(Turn& turn, const ProcId& proc) {
  Set& whole =
      FindOrAddSet({CollectiveOp::kFence, {{proc.nspace, kRankWildcard}}, 0});
  Resolve(turn, whole);
  for (auto& [id, set] : sets_) {
    if (!set.members || !Includes(id.participants, proc)) continue;
    const int index = set.members->LocalIndex(proc);
    if (index < 0) continue;
    const uint64_t sequence = set.arrivals[index];
    if (IsOver(set, sequence)) continue;
    FindOrAddInstance(turn, set, sequence);
    EndIfGone(turn, set, sequence);
  }
}

std::vector<std::vector<ProcId>> Collectives::ConnectionsOf(
    const ProcId& proc) const {
  std::vector<std::vector<ProcId>> out;
  for (const std::vector<ProcId>& procs : connected_) {
    const bool several = procs.front().nspace != procs.back().nspace;
    if (several && Includes(procs, proc)) out.push_back(procs);
  }
  return out;
}

void Collectives::OnTreeChanged(TimeNs now, Actions* actions) {
  Turn turn{now, *actions};
  for (auto& [id, set] : sets_) {
    if (!set.members) continue;
    Place(set);
    ReportAgain(turn, set);
    std::vector<uint64_t> active;
    for (auto& [sequence, instance] : set.active) {
      active.push_back(sequence);
      std::erase_if(instance.heard, [&](NodeId n) { return !tree_.alive(n); });
    }
    for (const uint64_t sequence : active) {
      if (!set.active.contains(sequence)) continue;
      if (!EndIfGone(turn, set, sequence)) Progress(turn, set, sequence);
    }
  }
}

// A new parent may not have heard how the last collectives ended, and others
// below it may wait for what this subtree brought.
void Collectives::ReportAgain(Turn& turn, Set& set) {
  for (auto& [sequence, over] : set.over) {
    std::erase_if(over.told, [&](NodeId n) { return !tree_.alive(n); });
    const NodeId parent = set.place.parent;
    if (over.parent == parent) continue;
    over.parent = parent;
    if (parent == kNoNode) continue;
    if (over.status != kSuccess) {
      CollectiveUp up{set.id, over.status, {}, over.missing};
      up.id.sequence = sequence;
      Send(turn, parent, std::move(up));
      continue;
    }
    Parts mine;
    for (const NodeId node : set.place.below) {
      const auto it = over.parts.find(node);
      if (it != over.parts.end()) mine.insert(*it);
    }
    Send(turn, parent, MakeUp(set, sequence, kAlreadyReleased, mine));
  }
}

void Collectives::LogFailure(Turn& turn, const Set& set, uint64_t sequence,
                             const Over& over) const {
  std::string text = Title(set.id, sequence) + " failed with status " +
                     std::to_string(over.status);
  if (!over.missing.empty()) text += ": missing " + Names(over.missing);
  turn.out.push_back(LogLine{LogLine::Level::kWarning, std::move(text)});
}

// ------------------------------------------------------------- deadlines ---

void Collectives::AddDeadline(Set& set, uint64_t sequence, TimeNs when,
                              std::vector<DeadlineKey>* keys) {
  const DeadlineKey key{when, deadline_number_++};
  deadlines_.emplace(key, std::pair(&set, sequence));
  keys->push_back(key);
}

TimeNs Collectives::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first.first;
}

void Collectives::OnTick(TimeNs now, Actions* actions) {
  Turn turn{now, *actions};
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
    const auto [set, sequence] = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (sequence == kStashSequence) {
      ExpireStash(turn, *set);
    } else if (set->active.contains(sequence)) {
      Expire(turn, *set, sequence);
    }
  }
}

void Collectives::Expire(Turn& turn, Set& set, uint64_t sequence) {
  Place(set);
  std::vector<ProcId> missing;
  for (const MissingProc& m : MissingIn(set, set.active.at(sequence))) {
    missing.push_back(m.proc);
  }
  Fail(turn, set, sequence, kErrTimeout, std::move(missing), kNoNode);
}

// Whom this agent still waits for: its own ranks, and those of nodes below
// (at the top: of all nodes) that have not contributed.
std::vector<MissingProc> Collectives::MissingIn(
    const Set& set, const Instance& instance) const {
  std::vector<MissingProc> out;
  for (size_t i = 0; i < instance.arrived.size(); ++i) {
    if (!instance.arrived[i]) {
      out.push_back({set.members->local[i], self_, true});
    }
  }
  const auto& nodes = set.place.top ? set.members->nodes : set.place.below;
  std::set<NodeId> awaited;
  for (const NodeId node : nodes) {
    if (node != self_ && !instance.parts.contains(node)) awaited.insert(node);
  }
  if (awaited.empty()) return out;
  for (const ProcId& proc : MembersWhere(set.id.participants, jobs_,
                                         [&](NodeId node, const RankState&) {
                                           return awaited.contains(node);
                                         })) {
    const Job* job = jobs_.Find(proc.nspace);
    out.push_back({proc, job->agent_of(proc.rank), false});
  }
  return out;
}

Waiting Collectives::DescribeStash(const Set& set) {
  Waiting waiting;
  waiting.nspace = set.id.participants.front().nspace;
  waiting.operation = std::string(NameOf(set.id.op)) + " of " +
                      Names(set.id.participants) +
                      ", asking the root for the map of a job";
  for (const StashEntry& entry : set.stash) {
    waiting.callers += std::holds_alternative<CollectiveArrived>(entry.what);
  }
  return waiting;
}

void Collectives::Describe(TimeNs now, const std::string& nspace,
                           std::vector<Waiting>* out) const {
  for (const auto& [id, set] : sets_) {
    const bool named =
        std::any_of(id.participants.begin(), id.participants.end(),
                    [&](const ProcId& proc) { return proc.nspace == nspace; });
    if (!nspace.empty() && !named) continue;
    if (!set.members && !set.stash.empty()) {
      out->push_back(DescribeStash(set));
    }
    if (!set.members || !set.place.member) continue;
    for (const auto& [sequence, instance] : set.active) {
      Waiting waiting;
      waiting.nspace = id.participants.front().nspace;
      waiting.operation = Title(id, sequence);
      waiting.age_ms = static_cast<uint64_t>(now - instance.started) / 1000000;
      waiting.callers = static_cast<uint32_t>(instance.waiters.size());
      waiting.missing = MissingIn(set, instance);
      if (waiting.missing.size() > kMaxMissing) {
        waiting.more_missing = waiting.missing.size() - kMaxMissing;
        waiting.missing.resize(kMaxMissing);
      }
      out->push_back(std::move(waiting));
    }
  }
}

}  // namespace canopy::core
