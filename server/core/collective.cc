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

void Collectives::Reply(StepContext& step, ClientId client, RequestId request,
                        int status) {
  step.out.push_back(ReplyClient{client, request, status, {}});
}

void Collectives::Send(StepContext& step, NodeId to, MessageBody body) {
  step.out.push_back(SendPeer{PeerMessage{self_, to, std::move(body)}});
}

Collectives::Series& Collectives::FindOrAddSeries(const CollectiveId& id) {
  const auto it = series_.find(id);
  if (it != series_.end()) return it->second;
  Series& series = series_[id];
  series.id = CollectiveId{id.op, id.participants, 0};
  return series;
}

Collectives::Instance& Collectives::FindOrAddInstance(StepContext& step,
                                                      Series& series,
                                                      uint64_t sequence) {
  const auto [it, added] = series.active.try_emplace(sequence);
  if (added) {
    it->second.started = step.now;
    it->second.arrived.resize(series.members->local.size());
  }
  return it->second;
}

void Collectives::Place(Series& series) const {
  if (series.place_version == tree_.version()) return;
  series.place = FindPlace(*series.members, tree_, self_);
  series.place_version = tree_.version();
}

// ------------------------------------------------------------- messages ---

void Collectives::OnUp(TimeNs now, NodeId src, const CollectiveUp& up,
                       Actions* actions) {
  StepContext step{now, *actions};
  Series& series = FindOrAddSeries(up.id);
  if (!Resolve(step, series)) {
    return Stash(step, series, StashEntry{std::pair(src, up), kNever});
  }
  ApplyUp(step, series, src, up);
}

void Collectives::OnDown(TimeNs now, NodeId src, const CollectiveDown& down,
                         Actions* actions) {
  StepContext step{now, *actions};
  Series& series = FindOrAddSeries(down.id);
  if (!Resolve(step, series)) {
    return Stash(step, series, StashEntry{std::pair(src, down), kNever});
  }
  ApplyDown(step, series, src, down);
}

void Collectives::ApplyUp(StepContext& step, Series& series, NodeId src,
                          const CollectiveUp& up) {
  const uint64_t sequence = up.id.sequence;
  if (IsOver(series, sequence)) return AnswerLate(step, series, src, up);
  const bool is_new = !series.active.contains(sequence);
  Instance& instance = FindOrAddInstance(step, series, sequence);
  for (const NodeContribution& c : up.contributions) {
    if (!series.members->HasNode(c.node)) continue;
    instance.contributions.try_emplace(c.node, Contribution{c.data, src});
  }
  instance.contributors.insert(src);
  if (up.status != kSuccess && up.status != kAlreadyReleased) {
    return Fail(step, series, sequence, up.status, up.missing, src);
  }
  if (is_new && EndIfGone(step, series, sequence)) return;
  Progress(step, series, sequence);
}

// A contribution arrived for a collective that has completed here: the sender
// has lost its parent since, unless it was already notified by this agent.
void Collectives::AnswerLate(StepContext& step, Series& series, NodeId src,
                             const CollectiveUp& up) {
  const auto it = series.completed.find(up.id.sequence);
  if (up.status != kSuccess) return;
  if (it == series.completed.end()) {
    return AnswerRecovered(step, series, up.id.sequence, src);
  }
  if (!it->second.notified.insert(src).second) return;
  SendDown(step, series, up.id.sequence, it->second, src);
}

void Collectives::ApplyDown(StepContext& step, Series& series, NodeId src,
                            const CollectiveDown& down) {
  const uint64_t sequence = down.id.sequence;
  if (IsOver(series, sequence)) return;
  Instance& instance = FindOrAddInstance(step, series, sequence);
  for (const NodeContribution& c : down.contributions) {
    if (!series.members->HasNode(c.node)) continue;
    instance.contributions.try_emplace(c.node, Contribution{c.data, src});
  }
  Release(step, series, sequence, down.status, down.missing, src);
}

// ------------------------------------------------------------- progress ---

void Collectives::AddOwnContribution(const Series& series, uint64_t sequence,
                                     Instance& instance) const {
  // In order: a contribution implies that the previous collective was released
  // here.
  if (sequence != series.next || instance.arrived.empty() ||
      instance.num_arrived < instance.arrived.size() ||
      instance.contributions.contains(self_)) {
    return;
  }
  Contribution contribution{{}, self_};
  if (instance.collect && series.members->nodes.size() > 1) {
    ModexWriter writer;
    instance.sent_versions.clear();
    for (size_t i = 0; i < series.members->local.size(); ++i) {
      const uint64_t base =
          series.acknowledged.empty() ? 0 : series.acknowledged[i];
      const RankUpdate update =
          modex_.UpdateSince(series.members->local[i], base);
      instance.sent_versions.push_back(update.version);
      if (base == 0 || update.version > base) writer.Add(update);
    }
    contribution.data = writer.Take();
  }
  instance.contributions.emplace(self_, std::move(contribution));
}

void Collectives::Progress(StepContext& step, Series& series,
                           uint64_t sequence) {
  const auto it = series.active.find(sequence);
  if (it == series.active.end() || !series.members) return;
  Instance& instance = it->second;
  AddOwnContribution(series, sequence, instance);
  Place(series);
  if (!series.place.member) return;
  const auto& needed =
      series.place.top ? series.members->nodes : series.place.below;
  if (!std::all_of(needed.begin(), needed.end(), [&](NodeId node) {
        return instance.contributions.contains(node);
      })) {
    return;
  }
  if (series.place.top) {
    return Release(step, series, sequence, kSuccess, {}, kNoNode);
  }
  if (instance.sent_to == series.place.parent) return;
  instance.sent_to = series.place.parent;
  Send(step, series.place.parent,
       MakeUp(series, sequence, kSuccess, instance.contributions));
}

CollectiveUp Collectives::MakeUp(const Series& series, uint64_t sequence,
                                 int status,
                                 const Contributions& contributions) const {
  CollectiveUp up{series.id, status, {}, {}};
  up.id.sequence = sequence;
  for (const auto& [node, contribution] : contributions) {
    up.contributions.push_back({node, contribution.data});
  }
  return up;
}

void Collectives::SendDown(StepContext& step, const Series& series,
                           uint64_t sequence, const Completed& completed,
                           NodeId to) {
  CollectiveDown down{series.id, completed.status, {}, completed.missing};
  down.id.sequence = sequence;
  if (completed.status == kSuccess) {
    for (const auto& [node, contribution] : completed.contributions) {
      if (contribution.via != to && !contribution.data.empty()) {
        down.contributions.push_back({node, contribution.data});
      }
    }
  }
  Send(step, to, std::move(down));
}

void Collectives::Release(StepContext& step, Series& series, uint64_t sequence,
                          int status, std::vector<ProcId> missing,
                          NodeId except) {
  Place(series);
  auto node = series.active.extract(sequence);
  Instance& instance = node.mapped();
  for (const DeadlineKey& key : instance.deadlines) deadlines_.erase(key);
  Completed completed{status,
                      std::move(missing),
                      std::move(instance.contributions),
                      {},
                      series.place.parent};
  NotifyBelow(step, series, sequence, instance, except, &completed);
  if (status == kSuccess && !series.members->local.empty()) {
    for (const ProcId& proc : series.id.participants) {
      jobs_.Register(proc.nspace, &step.out);
    }
    Publish(step, completed.contributions);
    if (!instance.sent_versions.empty() &&
        !MayBePredecessors(series, sequence)) {
      series.acknowledged = std::move(instance.sent_versions);
    }
  }
  NoteConnection(series.id, status);
  // Without waiters the failure is of no interest here.
  if (status != kSuccess && !instance.waiters.empty()) {
    LogFailure(step, series, sequence, completed);
  }
  Persist(step, series, sequence, status, instance.collect);
  for (const Waiter& w : instance.waiters) {
    Reply(step, w.client, w.request, status);
  }
  series.completed.emplace(sequence, std::move(completed));
  if (status == kSuccess) SkipEarlier(series, sequence);
  while (series.completed.contains(series.next)) ++series.next;
  PruneCompleted(series);
  Progress(step, series, series.next);
}

// `except` has been notified already.
void Collectives::NotifyBelow(StepContext& step, const Series& series,
                              uint64_t sequence, const Instance& instance,
                              NodeId except, Completed* completed) {
  completed->notified.insert(series.place.children.begin(),
                             series.place.children.end());
  completed->notified.insert(instance.contributors.begin(),
                             instance.contributors.end());
  completed->notified.erase(series.place.parent);
  if (except != kNoNode) completed->notified.erase(except);
  for (const NodeId to : completed->notified) {
    if (tree_.alive(to)) SendDown(step, series, sequence, *completed, to);
  }
  if (except != kNoNode) completed->notified.insert(except);
}

void Collectives::NoteConnection(const CollectiveId& id, int status) {
  if (status == kSuccess && id.op == CollectiveOp::kConnect) {
    connected_.insert(id.participants);
  } else if (id.op == CollectiveOp::kDisconnect) {
    connected_.erase(id.participants);
  }
}

// Every contributor has completed the earlier collectives of the series, even
// those that did not pass this agent.
void Collectives::SkipEarlier(Series& series, uint64_t sequence) const {
  series.next = std::max(series.next, sequence + 1);
  std::erase_if(series.active, [&](const auto& item) {
    return item.first < sequence && item.second.waiters.empty();
  });
}

void Collectives::Publish(StepContext& step,
                          const Contributions& contributions) {
  for (const auto& [node, contribution] : contributions) {
    if (node == self_) continue;
    ModexReader reader(contribution.data);
    RankUpdate update;
    while (reader.Next(&update)) {
      const ProcId& proc = update.proc;
      const Job* job = jobs_.Find(proc.nspace);
      // A node may only supply data of its own ranks.
      if (job == nullptr || proc.rank >= job->num_ranks() ||
          job->agent_of(proc.rank) != node) {
        continue;
      }
      if (modex_.StoreRemote(update)) {
        step.out.push_back(modex_.TakeChange(proc));
      }
    }
    if (!reader.ok()) {
      step.out.push_back(LogLine{
          LogLine::Level::kError,
          "malformed data in a collective from node " + std::to_string(node)});
    }
  }
}

// Drops results that cannot be requested any more: a later success implies that
// every node has completed the earlier ones; a failed one is retained for local
// participants that have yet to arrive at it.
void Collectives::PruneCompleted(Series& series) const {
  uint64_t last_success = 0;
  for (const auto& [sequence, completed] : series.completed) {
    if (completed.status == kSuccess) last_success = sequence;
  }
  uint64_t awaited = UINT64_MAX;
  for (size_t i = 0; i < series.arrivals.size(); ++i) {
    const ProcId& proc = series.members->local[i];
    const Job* job = jobs_.Find(proc.nspace);
    if (job == nullptr || job->ranks[proc.rank].ended) continue;
    awaited = std::min(awaited, series.arrivals[i]);
  }
  const uint64_t keep = std::min({last_success, awaited, series.next});
  series.completed.erase(series.completed.begin(),
                         series.completed.lower_bound(keep));
}

}  // namespace canopy::core
