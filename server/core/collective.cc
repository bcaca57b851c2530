#include "server/core/collective.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace canopy::core {
namespace {

constexpr uint64_t kStashSequence = UINT64_MAX;
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

bool Names(const CollectiveId& id, const ProcId& proc) {
  const auto& procs = id.participants;
  return std::binary_search(procs.begin(), procs.end(), proc) ||
         std::binary_search(procs.begin(), procs.end(),
                            ProcId{proc.nspace, kRankWildcard});
}

}  // namespace

const char* NameOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kFence:
      return "fence";
    case CollectiveOp::kConnect:
      return "connect";
    case CollectiveOp::kDisconnect:
      return "disconnect";
    case CollectiveOp::kGroupConstruct:
      return "group construct";
    case CollectiveOp::kGroupDestruct:
      return "group destruct";
  }
  return "collective";
}

Collectives::Collectives(NodeId self, const Tree& tree, JobTable& jobs,
                         ModexStore& modex)
    : self_(self), tree_(tree), jobs_(jobs), modex_(modex) {}

void Collectives::Reply(Turn& turn, ClientId client, RequestId request,
                        int status) {
  turn.out.push_back(ReplyClient{client, request, status, {}});
}

void Collectives::Send(Turn& turn, NodeId to, MessageBody body) {
  turn.out.push_back(SendPeer{PeerMessage{self_, to, std::move(body)}});
}

Collectives::Set& Collectives::FindOrAddSet(const CollectiveId& id) {
  const auto it = sets_.find(id);
  if (it != sets_.end()) return it->second;
  Set& set = sets_[id];
  set.id = CollectiveId{id.op, id.participants, 0};
  return set;
}

Collectives::Instance& Collectives::FindOrAddInstance(Turn& turn, Set& set,
                                                      uint64_t sequence) {
  const auto [it, added] = set.active.try_emplace(sequence);
  if (added) {
    it->second.started = turn.now;
    it->second.arrived.resize(set.members->local.size());
  }
  return it->second;
}

void Collectives::Place(Set& set) const {
  if (set.place_version == tree_.version()) return;
  set.place = FindPlace(*set.members, tree_, self_);
  set.place_version = tree_.version();
}

// ------------------------------------------------------------- messages ---

void Collectives::OnUp(TimeNs now, NodeId src, const CollectiveUp& up,
                       Actions* actions) {
  Turn turn{now, *actions};
  Set& set = FindOrAddSet(up.id);
  if (!Resolve(turn, set)) {
    return Stash(turn, set, StashEntry{std::pair(src, up), kNever});
  }
  ApplyUp(turn, set, src, up);
}

void Collectives::OnDown(TimeNs now, NodeId src, const CollectiveDown& down,
                         Actions* actions) {
  Turn turn{now, *actions};
  Set& set = FindOrAddSet(down.id);
  if (!Resolve(turn, set)) {
    return Stash(turn, set, StashEntry{std::pair(src, down), kNever});
  }
  ApplyDown(turn, set, src, down);
}

void Collectives::ApplyUp(Turn& turn, Set& set, NodeId src,
                          const CollectiveUp& up) {
  const uint64_t sequence = up.id.sequence;
  if (IsOver(set, sequence)) return AnswerLate(turn, set, src, up);
  const bool is_new = !set.active.contains(sequence);
  Instance& instance = FindOrAddInstance(turn, set, sequence);
  for (const NodeContribution& c : up.contributions) {
    if (!set.members->HasNode(c.node)) continue;
    instance.parts.try_emplace(c.node, Part{c.data, src});
  }
  instance.heard.insert(src);
  if (up.status != kSuccess && up.status != kAlreadyReleased) {
    return Fail(turn, set, sequence, up.status, up.missing, src);
  }
  if (is_new && EndIfGone(turn, set, sequence)) return;
  Progress(turn, set, sequence);
}

// Something came for a collective that is over here: the sender has lost its
// parent since, unless it was told by us.
void Collectives::AnswerLate(Turn& turn, Set& set, NodeId src,
                             const CollectiveUp& up) {
  const auto it = set.over.find(up.id.sequence);
  if (it == set.over.end() || up.status != kSuccess) return;
  if (!it->second.told.insert(src).second) return;
  SendDown(turn, set, up.id.sequence, it->second, src);
}

void Collectives::ApplyDown(Turn& turn, Set& set, NodeId src,
                            const CollectiveDown& down) {
  const uint64_t sequence = down.id.sequence;
  if (IsOver(set, sequence)) return;
  Instance& instance = FindOrAddInstance(turn, set, sequence);
  for (const NodeContribution& c : down.contributions) {
    if (!set.members->HasNode(c.node)) continue;
    instance.parts.try_emplace(c.node, Part{c.data, src});
  }
  Release(turn, set, sequence, down.status, down.missing, src);
}

// ------------------------------------------------------------- progress ---

void Collectives::AddOwnPart(const Set& set, uint64_t sequence,
                             Instance& instance) const {
  // In order, so that whoever contributes has seen the one before released.
  if (sequence != set.next || instance.arrived.empty() ||
      instance.num_arrived < instance.arrived.size() ||
      instance.parts.contains(self_)) {
    return;
  }
  Part part{{}, self_};
  if (instance.collect && set.members->nodes.size() > 1) {
    ModexWriter writer;
    for (const ProcId& proc : set.members->local) {
      writer.Add(proc, modex_.SeenByOthers(proc).view());
    }
    part.data = writer.Take();
  }
  instance.parts.emplace(self_, std::move(part));
}

void Collectives::Progress(Turn& turn, Set& set, uint64_t sequence) {
  const auto it = set.active.find(sequence);
  if (it == set.active.end() || !set.members) return;
  Instance& instance = it->second;
  AddOwnPart(set, sequence, instance);
  Place(set);
  if (!set.place.member) return;
  const auto& needed = set.place.top ? set.members->nodes : set.place.below;
  if (!std::all_of(needed.begin(), needed.end(), [&](NodeId node) {
        return instance.parts.contains(node);
      })) {
    return;
  }
  if (set.place.top) {
    return Release(turn, set, sequence, kSuccess, {}, kNoNode);
  }
  if (instance.sent_to == set.place.parent) return;
  instance.sent_to = set.place.parent;
  Send(turn, set.place.parent, MakeUp(set, sequence, kSuccess, instance.parts));
}

CollectiveUp Collectives::MakeUp(const Set& set, uint64_t sequence, int status,
                                 const Parts& parts) const {
  CollectiveUp up{set.id, status, {}, {}};
  up.id.sequence = sequence;
  for (const auto& [node, part] : parts) {
    up.contributions.push_back({node, part.data});
  }
  return up;
}

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
        if (state.gone()) in_order &= state.finalized;
        return state.gone() || !tree_.alive(node);
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

void Collectives::SendDown(Turn& turn, const Set& set, uint64_t sequence,
                           const Over& over, NodeId to) {
  CollectiveDown down{set.id, over.status, {}, over.missing};
  down.id.sequence = sequence;
  if (over.status == kSuccess) {
    for (const auto& [node, part] : over.parts) {
      if (part.via != to && !part.data.empty()) {
        down.contributions.push_back({node, part.data});
      }
    }
  }
  Send(turn, to, std::move(down));
}

void Collectives::Release(Turn& turn, Set& set, uint64_t sequence, int status,
                          std::vector<ProcId> missing, NodeId except) {
  Place(set);
  auto node = set.active.extract(sequence);
  Instance& instance = node.mapped();
  for (const DeadlineKey& key : instance.deadlines) deadlines_.erase(key);
  Over over{status,
            std::move(missing),
            std::move(instance.parts),
            {},
            set.place.parent};
  over.told.insert(set.place.children.begin(), set.place.children.end());
  over.told.insert(instance.heard.begin(), instance.heard.end());
  over.told.erase(set.place.parent);
  if (except != kNoNode) over.told.erase(except);
  for (const NodeId to : over.told) {
    if (tree_.alive(to)) SendDown(turn, set, sequence, over, to);
  }
  if (except != kNoNode) over.told.insert(except);
  if (status == kSuccess && !set.members->local.empty()) {
    for (const ProcId& proc : set.id.participants) {
      jobs_.Register(proc.nspace, &turn.out);
    }
    Publish(turn, over.parts);
  }
  if (status == kSuccess && set.id.op == CollectiveOp::kConnect) {
    connected_.insert(set.id.participants);
  } else if (set.id.op == CollectiveOp::kDisconnect) {
    connected_.erase(set.id.participants);
  }
  if (status != kSuccess) LogFailure(turn, set, sequence, over);
  for (const Waiter& w : instance.waiters) {
    Reply(turn, w.client, w.request, status);
  }
  set.over.emplace(sequence, std::move(over));
  if (status == kSuccess) PassBy(set, sequence);
  while (set.over.contains(set.next)) ++set.next;
  Forget(set);
  Progress(turn, set, set.next);
}

// Everybody who contributed to a collective has seen the ones before it end,
// even where this agent was not on their way.
void Collectives::PassBy(Set& set, uint64_t sequence) const {
  set.next = std::max(set.next, sequence + 1);
  std::erase_if(set.active, [&](const auto& item) {
    return item.first < sequence && item.second.waiters.empty();
  });
}

void Collectives::Publish(Turn& turn, const Parts& parts) {
  for (const auto& [node, part] : parts) {
    if (node == self_) continue;
    ModexReader reader(part.data);
    ProcId proc;
    Bytes kvals;
    while (reader.Next(&proc, &kvals)) {
      const Job* job = jobs_.Find(proc.nspace);
      // A node speaks for its own ranks only.
      if (job == nullptr || proc.rank >= job->num_ranks() ||
          job->agent_of(proc.rank) != node) {
        continue;
      }
      if (modex_.StoreRemote(proc, kvals)) {
        turn.out.push_back(modex_.Publication(proc));
      }
    }
    if (!reader.ok()) {
      turn.out.push_back(LogLine{
          LogLine::Level::kError,
          "malformed data in a collective from node " + std::to_string(node)});
    }
  }
}

// Drops what nobody can ask for any more: a later success means that every
// node has seen the end of the earlier ones; a local participant that has yet
// to come to a failed one must still be told.
void Collectives::Forget(Set& set) const {
  uint64_t last_success = 0;
  for (const auto& [sequence, over] : set.over) {
    if (over.status == kSuccess) last_success = sequence;
  }
  uint64_t awaited = UINT64_MAX;
  for (size_t i = 0; i < set.arrivals.size(); ++i) {
    const ProcId& proc = set.members->local[i];
    const Job* job = jobs_.Find(proc.nspace);
    if (job == nullptr || job->ranks[proc.rank].ended) continue;
    awaited = std::min(awaited, set.arrivals[i]);
  }
  const uint64_t keep = std::min({last_success, awaited, set.next});
  set.over.erase(set.over.begin(), set.over.lower_bound(keep));
}

// -------------------------------------------------------------- failures ---

void Collectives::OnRankGone(TimeNs now, const ProcId& proc, Actions* actions) {
  Turn turn{now, *actions};
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr) return;
  for (auto& [id, set] : sets_) {
    if (!set.members || !Names(id, proc)) continue;
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
    if (!set.members || !Names(id, proc)) continue;
    const int index = set.members->LocalIndex(proc);
    if (index < 0) continue;
    const uint64_t sequence = set.arrivals[index];
    if (IsOver(set, sequence)) continue;
    FindOrAddInstance(turn, set, sequence);
    EndIfGone(turn, set, sequence);
  }
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

void Collectives::Describe(TimeNs now, const std::string& nspace,
                           std::vector<Waiting>* out) const {
  for (const auto& [id, set] : sets_) {
    if (!set.members || !set.place.member) continue;
    const bool named =
        std::any_of(id.participants.begin(), id.participants.end(),
                    [&](const ProcId& proc) { return proc.nspace == nspace; });
    if (!nspace.empty() && !named) continue;
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
