// How collectives go on when an agent is replaced: what the others say again to
// the new one, and what it knows from its predecessor and its processes.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/wire.h"
#include "server/core/collective.h"

namespace canopy::core {
namespace {

constexpr char kPrefix[] = "collective ";

// Names the set; what it is about is read from it again.
std::string KeyOf(const CollectiveId& id, bool failed, uint64_t sequence) {
  WireWriter out;
  out.Uint(static_cast<uint64_t>(id.op));
  out.Uint(id.participants.size());
  for (const ProcId& proc : id.participants) out.Proc(proc);
  out.Bool(failed);
  if (failed) out.Uint(sequence);
  return kPrefix + out.Take();
}

}  // namespace

void Collectives::OnNodeRestarted(TimeNs now, NodeId node, Actions* actions) {
  Turn turn{now, *actions};
  for (auto& [id, set] : sets_) {
    if (!set.members) continue;
    Place(set);
    // It has lost what the next differences would be differences to.
    set.shown.clear();
    for (auto& [sequence, over] : set.over) {
      over.told.erase(node);
      for (auto& [from, part] : over.parts) {
        if (part.via == node) part.via = kNoNode;
      }
      if (over.parent == node) over.parent = kNoNode;
    }
    if (set.place.parent == node) ReportAgain(turn, set);
    std::vector<uint64_t> active;
    for (auto& [sequence, instance] : set.active) {
      active.push_back(sequence);
      instance.heard.erase(node);
      if (instance.sent_to == node) instance.sent_to = kNoNode;
      for (auto& [from, part] : instance.parts) {
        if (part.via == node) part.via = kNoNode;
      }
    }
    for (const uint64_t sequence : active) {
      if (set.active.contains(sequence)) Progress(turn, set, sequence);
    }
    if (!std::ranges::count(set.place.children, node)) continue;
    for (auto& [sequence, over] : set.over) {
      if (over.status != kSuccess) continue;
      over.told.insert(node);
      SendDown(turn, set, sequence, over, node);
    }
  }
}

// ------------------------------------------------------------ a new agent ---

// The answers to those who wait are about to be given: should they not all get
// them, the next agent must know.
void Collectives::Keep(Turn& turn, const Set& set, uint64_t sequence,
                       int status, bool collect) const {
  if (!remembers_ || set.members->local.empty()) return;
  WireWriter value;
  value.Uint(sequence);
  value.Int(status);
  value.Bool(connected_.contains(set.id.participants));
  value.Bool(collect);
  const bool failed = status != kSuccess;
  turn.out.push_back(Remember{set.members->local.front().nspace,
                              KeyOf(set.id, failed, sequence),
                              Bytes(value.Take())});
}

void Collectives::Restore(const KeptRecord& record) {
  if (!record.key.starts_with(kPrefix)) return;
  WireReader key(std::string_view(record.key).substr(sizeof kPrefix - 1));
  CollectiveId id;
  id.op = static_cast<CollectiveOp>(key.Uint());
  id.participants.resize(key.Count(2));
  for (ProcId& proc : id.participants) proc = key.Proc();
  WireReader value(record.value.view());
  const uint64_t sequence = value.Uint();
  const int status = static_cast<int>(value.Int());
  const bool connected = value.Bool();
  // Agents that do not say so made data anew in any case.
  const bool collect = value.rest().empty() || value.Bool();
  if (!key.ok() || !value.ok() || id.participants.empty()) return;
  // The last record of these participants, of whatever kind, is how it is.
  if (connected) {
    connected_.insert(id.participants);
  } else {
    connected_.erase(id.participants);
  }
  Set& set = FindOrAddSet(id);
  if (status != kSuccess) {
    set.over.try_emplace(sequence, Over{status, {}, {}, {}, kNoNode});
    return;
  }
  set.next = set.restored = std::max(set.restored, sequence + 1);
  set.restored_data = collect;
  while (set.over.contains(set.next)) ++set.next;
}

bool Collectives::MayBeFormers(const Set& set, uint64_t sequence) const {
  return sequence <= set.restored &&
         std::ranges::any_of(set.members->local, [&](const ProcId& proc) {
           return recovered_.contains(proc.nspace);
         });
}

void Collectives::OnResumed(TimeNs now, const ClientResumed& in,
                            Actions* actions) {
  Turn turn{now, *actions};
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;
  for (const CollectiveCount& count : in.counts) {
    CollectiveId id{count.op, count.participants, 0};
    if (!Canonicalise(proc->nspace, &id.participants).ok()) continue;
    if (sets_.size() >= kMaxSets && !sets_.contains(id)) continue;
    Set& set = FindOrAddSet(id);
    set.resumed[*proc] = count.ended;
    if (!Resolve(turn, set)) continue;
    ApplyResumed(set);
    ReleaseRestored(turn, set);
  }
}

// Another node did not hear of the end that the former agent has seen.
void Collectives::AnswerRestored(Turn& turn, Set& set, uint64_t sequence,
                                 NodeId to) {
  if (sequence >= set.restored) return;
  CollectiveDown down{set.id, kSuccess, {}, {}};
  down.id.sequence = sequence;
  if (set.restored_data) down.contributions = DataKnown(set);
  Send(turn, to, std::move(down));
}

// The data of a collective, made anew from what is known of each participant.
// Some may be older than what others have of it by other ways.
std::vector<NodeContribution> Collectives::DataKnown(const Set& set) const {
  std::map<NodeId, ModexWriter> parts;
  const auto all = MembersWhere(set.id.participants, jobs_,
                                [](NodeId, const RankState&) { return true; });
  for (const ProcId& proc : all) {
    const NodeId node = jobs_.Find(proc.nspace)->agent_of(proc.rank);
    RankUpdate update = modex_.UpdateSince(proc, 0);
    if (update.version == 0) continue;
    if (node != self_) update.kvals = modex_.SeenHere(proc);
    parts[node].Add(update);
  }
  std::vector<NodeContribution> data;
  for (auto& [node, writer] : parts) data.push_back({node, writer.Take()});
  return data;
}

// What one process has seen the end of is over.
void Collectives::ApplyResumed(Set& set) {
  for (const auto& [proc, ended] : std::exchange(set.resumed, {})) {
    const int index = set.members->LocalIndex(proc);
    if (index < 0) continue;
    set.counted[index] = true;
    set.arrivals[index] = std::max(set.arrivals[index], ended);
    set.restored = std::max(set.restored, ended);
  }
  set.next = std::max(set.next, set.restored);
  while (set.over.contains(set.next)) ++set.next;
}

void Collectives::ReleaseRestored(Turn& turn, Set& set) {
  while (!set.active.empty() && set.active.begin()->first < set.restored) {
    auto node = set.active.extract(set.active.begin());
    for (const DeadlineKey& key : node.mapped().deadlines) {
      deadlines_.erase(key);
    }
    const auto over = set.over.find(node.key());
    for (const Waiter& w : node.mapped().waiters) {
      Reply(turn, w.client, w.request,
            over == set.over.end() ? kSuccess : over->second.status);
    }
  }
  Progress(turn, set, set.next);
}

}  // namespace canopy::core
