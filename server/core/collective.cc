#include "server/core/collective.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace canopy::core {
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
  if (up.status != kSuccess) return;
  if (it == set.over.end()) {
    return AnswerRestored(turn, set, up.id.sequence, src);
  }
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
    instance.shows.clear();
    for (size_t i = 0; i < set.members->local.size(); ++i) {
      const uint64_t base = set.shown.empty() ? 0 : set.shown[i];
      const RankUpdate update = modex_.UpdateSince(set.members->local[i], base);
      instance.shows.push_back(update.version);
      if (base == 0 || update.version > base) writer.Add(update);
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
  TellBelow(turn, set, sequence, instance, except, &over);
  if (status == kSuccess && !set.members->local.empty()) {
    for (const ProcId& proc : set.id.participants) {
      jobs_.Register(proc.nspace, &turn.out);
    }
    Publish(turn, over.parts);
    if (!instance.shows.empty() && !MayBeFormers(set, sequence)) {
      set.shown = std::move(instance.shows);
    }
  }
  NoteConnection(set.id, status);
  // Where nobody waited, nobody asks.
  if (status != kSuccess && !instance.waiters.empty()) {
    LogFailure(turn, set, sequence, over);
  }
  Keep(turn, set, sequence, status, instance.collect);
  for (const Waiter& w : instance.waiters) {
    Reply(turn, w.client, w.request, status);
  }
  set.over.emplace(sequence, std::move(over));
  if (status == kSuccess) PassBy(set, sequence);
  while (set.over.contains(set.next)) ++set.next;
  Forget(set);
  Progress(turn, set, set.next);
}

// `except` knows it already.
void Collectives::TellBelow(Turn& turn, const Set& set, uint64_t sequence,
                            const Instance& instance, NodeId except,
                            Over* over) {
  over->told.insert(set.place.children.begin(), set.place.children.end());
  over->told.insert(instance.heard.begin(), instance.heard.end());
  over->told.erase(set.place.parent);
  if (except != kNoNode) over->told.erase(except);
  for (const NodeId to : over->told) {
    if (tree_.alive(to)) SendDown(turn, set, sequence, *over, to);
  }
  if (except != kNoNode) over->told.insert(except);
}

void Collectives::NoteConnection(const CollectiveId& id, int status) {
  if (status == kSuccess && id.op == CollectiveOp::kConnect) {
    connected_.insert(id.participants);
  } else if (id.op == CollectiveOp::kDisconnect) {
    connected_.erase(id.participants);
  }
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
    RankUpdate update;
    while (reader.Next(&update)) {
      const ProcId& proc = update.proc;
      const Job* job = jobs_.Find(proc.nspace);
      // A node speaks for its own ranks only.
      if (job == nullptr || proc.rank >= job->num_ranks() ||
          job->agent_of(proc.rank) != node) {
        continue;
      }
      if (modex_.StoreRemote(update)) {
        turn.out.push_back(modex_.TakeChange(proc));
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

}  // namespace canopy::core
