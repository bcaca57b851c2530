// Recovery of collectives after an agent was replaced: what other agents resend
// to the successor, and what it recovers from its predecessor and its
// processes.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/wire.h"
#include "server/core/collective.h"

namespace canopy::core {
namespace {

constexpr char kPrefix[] = "collective ";

// The record's key: identifies the series, which is decoded from it on
// recovery.
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
  StepContext step{now, *actions};
  for (auto& [id, series] : series_) {
    if (!series.members) continue;
    Place(series);
    // It has lost the delta base.
    series.acknowledged.clear();
    for (auto& [sequence, completed] : series.completed) {
      completed.notified.erase(node);
      for (auto& [from, contribution] : completed.contributions) {
        if (contribution.via == node) contribution.via = kNoNode;
      }
      if (completed.parent == node) completed.parent = kNoNode;
    }
    if (series.place.parent == node) ResendReports(step, series);
    std::vector<uint64_t> active;
    for (auto& [sequence, instance] : series.active) {
      active.push_back(sequence);
      instance.contributors.erase(node);
      if (instance.sent_to == node) instance.sent_to = kNoNode;
      for (auto& [from, contribution] : instance.contributions) {
        if (contribution.via == node) contribution.via = kNoNode;
      }
    }
    for (const uint64_t sequence : active) {
      if (series.active.contains(sequence)) Progress(step, series, sequence);
    }
    if (!std::ranges::count(series.place.children, node)) continue;
    for (auto& [sequence, completed] : series.completed) {
      if (completed.status != kSuccess) continue;
      completed.notified.insert(node);
      SendDown(step, series, sequence, completed, node);
    }
  }
}

// ------------------------------------------------------------ a new agent ---

// Written ahead of the replies: should not all waiters get them, a successor
// must know the result.
void Collectives::Persist(StepContext& step, const Series& series,
                          uint64_t sequence, int status, bool collect) const {
  if (!persists_ || series.members->local.empty()) return;
  WireWriter value;
  value.Uint(sequence);
  value.Int(status);
  value.Bool(connected_.contains(series.id.participants));
  value.Bool(collect);
  const bool failed = status != kSuccess;
  step.out.push_back(PersistRecord{series.members->local.front().nspace,
                                   KeyOf(series.id, failed, sequence),
                                   Bytes(value.Take())});
}

void Collectives::Recover(const PersistedRecord& record) {
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
  // Older agents omit the flag and regenerated the data in any case.
  const bool collect = value.rest().empty() || value.Bool();
  if (!key.ok() || !value.ok() || id.participants.empty()) return;
  // The last record of these participants, of any kind, is the valid one.
  if (connected) {
    connected_.insert(id.participants);
  } else {
    connected_.erase(id.participants);
  }
  Series& series = FindOrAddSeries(id);
  if (status != kSuccess) {
    series.completed.try_emplace(sequence,
                                 Completed{status, {}, {}, {}, kNoNode});
    return;
  }
  series.next = series.recovered = std::max(series.recovered, sequence + 1);
  series.recovered_data = collect;
  while (series.completed.contains(series.next)) ++series.next;
}

bool Collectives::MayBePredecessors(const Series& series,
                                    uint64_t sequence) const {
  return sequence <= series.recovered &&
         std::ranges::any_of(series.members->local, [&](const ProcId& proc) {
           return recovered_.contains(proc.nspace);
         });
}

void Collectives::OnReattached(TimeNs now, const ClientReattached& in,
                               Actions* actions) {
  StepContext step{now, *actions};
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;
  for (const CollectiveCount& count : in.counts) {
    CollectiveId id{count.op, count.participants, 0};
    if (!Canonicalise(proc->nspace, &id.participants).ok()) continue;
    if (series_.size() >= kMaxSeries && !series_.contains(id)) continue;
    Series& series = FindOrAddSeries(id);
    series.reattached[*proc] = count.ended;
    if (!Resolve(step, series)) continue;
    ApplyReattached(series);
    ReleaseRecovered(step, series);
  }
}

// Another node lacks the result of a collective that the predecessor has
// completed.
void Collectives::AnswerRecovered(StepContext& step, Series& series,
                                  uint64_t sequence, NodeId to) {
  if (sequence >= series.recovered) return;
  CollectiveDown down{series.id, kSuccess, {}, {}};
  down.id.sequence = sequence;
  if (series.recovered_data) down.contributions = DataKnown(series);
  Send(step, to, std::move(down));
}

// The data of a collective, regenerated from what is known of each participant.
// Receivers may have newer data already, by other routes.
std::vector<NodeContribution> Collectives::DataKnown(
    const Series& series) const {
  std::map<NodeId, ModexWriter> contributions;
  const auto all = MembersWhere(series.id.participants, jobs_,
                                [](NodeId, const RankState&) { return true; });
  for (const ProcId& proc : all) {
    const NodeId node = jobs_.Find(proc.nspace)->agent_of(proc.rank);
    RankUpdate update = modex_.UpdateSince(proc, 0);
    if (update.version == 0) continue;
    if (node != self_) update.kvals = modex_.SeenHere(proc);
    contributions[node].Add(update);
  }
  std::vector<NodeContribution> data;
  for (auto& [node, writer] : contributions)
    data.push_back({node, writer.Take()});
  return data;
}

// What has ended for one process has completed.
void Collectives::ApplyReattached(Series& series) {
  for (const auto& [proc, ended] : std::exchange(series.reattached, {})) {
    const int index = series.members->LocalIndex(proc);
    if (index < 0) continue;
    series.arrivals_known[index] = true;
    series.arrivals[index] = std::max(series.arrivals[index], ended);
    series.recovered = std::max(series.recovered, ended);
  }
  series.next = std::max(series.next, series.recovered);
  while (series.completed.contains(series.next)) ++series.next;
}

void Collectives::ReleaseRecovered(StepContext& step, Series& series) {
  while (!series.active.empty() &&
         series.active.begin()->first < series.recovered) {
    auto node = series.active.extract(series.active.begin());
    for (const DeadlineKey& key : node.mapped().deadlines) {
      deadlines_.erase(key);
    }
    const auto completed = series.completed.find(node.key());
    for (const Waiter& w : node.mapped().waiters) {
      Reply(step, w.client, w.request,
            completed == series.completed.end() ? kSuccess
                                                : completed->second.status);
    }
  }
  Progress(step, series, series.next);
}

}  // namespace canopy::core
