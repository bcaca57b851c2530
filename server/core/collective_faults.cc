// Failure of collectives by process death, node loss and deadline, and the
// report of those that are blocked.
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

bool Collectives::EndIfGone(StepContext& step, Series& series,
                            uint64_t sequence) {
  Place(series);
  const bool nobody_gone = NobodyIsGone(series.id.participants, jobs_);
  const bool no_node_lost = tree_.version() == 0;
  if (nobody_gone && no_node_lost) return false;
  const Instance& instance = series.active.at(sequence);
  std::set<NodeId> awaited;  // nodes whose contributions this agent awaits
  const auto& nodes =
      series.place.top ? series.members->nodes : series.place.below;
  for (const NodeId node : nodes) {
    if (!instance.contributions.contains(node)) awaited.insert(node);
  }
  bool in_order = true;
  std::vector<ProcId> missing = MembersWhere(
      series.id.participants, jobs_, [&](NodeId node, const RankState& state) {
        if (node == self_ || !awaited.contains(node)) return false;
        if (!state.gone() && tree_.alive(node)) return false;
        in_order &= state.gone() && state.finalized;
        return true;
      });
  for (size_t i = 0; i < series.members->local.size(); ++i) {
    const ProcId& proc = series.members->local[i];
    const RankState& state = jobs_.Find(proc.nspace)->ranks[proc.rank];
    if (instance.arrived[i] || !state.gone()) continue;
    in_order &= state.finalized;
    missing.push_back(proc);
  }
  if (missing.empty()) return false;
  Fail(step, series, sequence, in_order ? kErrProcTermWoSync : kErrProcAborted,
       std::move(missing), kNoNode);
  return true;
}

void Collectives::Fail(StepContext& step, Series& series, uint64_t sequence,
                       int status, std::vector<ProcId> missing, NodeId except) {
  Place(series);
  const NodeId parent = series.place.parent;
  if (parent != kNoNode && parent != except) {
    CollectiveUp up{series.id, status, {}, missing};
    up.id.sequence = sequence;
    Send(step, parent, std::move(up));
  }
  Release(step, series, sequence, status, std::move(missing), except);
}

void Collectives::OnRankGone(TimeNs now, const ProcId& proc, Actions* actions) {
  StepContext step{now, *actions};
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr) return;
  for (auto& [id, series] : series_) {
    if (!series.members || !Includes(id.participants, proc)) continue;
    std::vector<uint64_t> active;
    for (const auto& [sequence, instance] : series.active) {
      active.push_back(sequence);
    }
    for (const uint64_t sequence : active) {
      if (series.active.contains(sequence)) EndIfGone(step, series, sequence);
    }
  }
  const RankState& state = job->ranks[proc.rank];
  if (state.lost && !state.ended && !job->ending) ReportLost(step, proc);
}

// A local rank is alive but has lost its connection: only its own agent can
// fail the collectives that wait for it, now or later.
void Collectives::ReportLost(StepContext& step, const ProcId& proc) {
  Series& whole = FindOrAddSeries(
      {CollectiveOp::kFence, {{proc.nspace, kRankWildcard}}, 0});
  Resolve(step, whole);
  for (auto& [id, series] : series_) {
    if (!series.members || !Includes(id.participants, proc)) continue;
    const int index = series.members->LocalIndex(proc);
    if (index < 0) continue;
    const uint64_t sequence = series.arrivals[index];
    if (IsOver(series, sequence)) continue;
    FindOrAddInstance(step, series, sequence);
    EndIfGone(step, series, sequence);
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
  StepContext step{now, *actions};
  for (auto& [id, series] : series_) {
    if (!series.members) continue;
    Place(series);
    ResendReports(step, series);
    std::vector<uint64_t> active;
    for (auto& [sequence, instance] : series.active) {
      active.push_back(sequence);
      std::erase_if(instance.contributors,
                    [&](NodeId n) { return !tree_.alive(n); });
    }
    for (const uint64_t sequence : active) {
      if (!series.active.contains(sequence)) continue;
      if (!EndIfGone(step, series, sequence)) Progress(step, series, sequence);
    }
  }
}

// A new parent may lack the results of the last collectives, and other subtrees
// below it may wait for this subtree's contributions.
void Collectives::ResendReports(StepContext& step, Series& series) {
  for (auto& [sequence, completed] : series.completed) {
    std::erase_if(completed.notified,
                  [&](NodeId n) { return !tree_.alive(n); });
    const NodeId parent = series.place.parent;
    if (completed.parent == parent) continue;
    completed.parent = parent;
    if (parent == kNoNode) continue;
    if (completed.status != kSuccess) {
      CollectiveUp up{series.id, completed.status, {}, completed.missing};
      up.id.sequence = sequence;
      Send(step, parent, std::move(up));
      continue;
    }
    Contributions mine;
    for (const NodeId node : series.place.below) {
      const auto it = completed.contributions.find(node);
      if (it != completed.contributions.end()) mine.insert(*it);
    }
    Send(step, parent, MakeUp(series, sequence, kAlreadyReleased, mine));
  }
}

void Collectives::LogFailure(StepContext& step, const Series& series,
                             uint64_t sequence,
                             const Completed& completed) const {
  std::string text = Title(series.id, sequence) + " failed with status " +
                     std::to_string(completed.status);
  if (!completed.missing.empty())
    text += ": missing " + Names(completed.missing);
  step.out.push_back(LogLine{LogLine::Level::kWarning, std::move(text)});
}

// ------------------------------------------------------------- deadlines ---

void Collectives::AddDeadline(Series& series, uint64_t sequence, TimeNs when,
                              std::vector<DeadlineKey>* keys) {
  const DeadlineKey key{when, deadline_number_++};
  deadlines_.emplace(key, std::pair(&series, sequence));
  keys->push_back(key);
}

TimeNs Collectives::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first.first;
}

void Collectives::OnTick(TimeNs now, Actions* actions) {
  StepContext step{now, *actions};
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
    const auto [series, sequence] = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (sequence == kStashSequence) {
      ExpireStash(step, *series);
    } else if (series->active.contains(sequence)) {
      Expire(step, *series, sequence);
    }
  }
}

void Collectives::Expire(StepContext& step, Series& series, uint64_t sequence) {
  Place(series);
  std::vector<ProcId> missing;
  for (const MissingProc& m : MissingIn(series, series.active.at(sequence))) {
    missing.push_back(m.proc);
  }
  Fail(step, series, sequence, kErrTimeout, std::move(missing), kNoNode);
}

// Whom this agent still waits for: its own ranks, and those of nodes below
// (at the top: of all nodes) that have not contributed.
std::vector<MissingProc> Collectives::MissingIn(
    const Series& series, const Instance& instance) const {
  std::vector<MissingProc> out;
  for (size_t i = 0; i < instance.arrived.size(); ++i) {
    if (!instance.arrived[i]) {
      out.push_back({series.members->local[i], self_, true});
    }
  }
  const auto& nodes =
      series.place.top ? series.members->nodes : series.place.below;
  std::set<NodeId> awaited;
  for (const NodeId node : nodes) {
    if (node != self_ && !instance.contributions.contains(node))
      awaited.insert(node);
  }
  if (awaited.empty()) return out;
  for (const ProcId& proc : MembersWhere(series.id.participants, jobs_,
                                         [&](NodeId node, const RankState&) {
                                           return awaited.contains(node);
                                         })) {
    const Job* job = jobs_.Find(proc.nspace);
    out.push_back({proc, job->agent_of(proc.rank), false});
  }
  return out;
}

Waiting Collectives::DescribeStash(const Series& series) {
  Waiting waiting;
  waiting.nspace = series.id.participants.front().nspace;
  waiting.operation = std::string(NameOf(series.id.op)) + " of " +
                      Names(series.id.participants) +
                      ", asking the root for the map of a job";
  for (const StashEntry& entry : series.stash) {
    waiting.callers += std::holds_alternative<CollectiveArrived>(entry.what);
  }
  return waiting;
}

void Collectives::Describe(TimeNs now, const std::string& nspace,
                           std::vector<Waiting>* out) const {
  for (const auto& [id, series] : series_) {
    const bool named =
        std::any_of(id.participants.begin(), id.participants.end(),
                    [&](const ProcId& proc) { return proc.nspace == nspace; });
    if (!nspace.empty() && !named) continue;
    if (!series.members && !series.stash.empty()) {
      out->push_back(DescribeStash(series));
    }
    if (!series.members || !series.place.member) continue;
    for (const auto& [sequence, instance] : series.active) {
      Waiting waiting;
      waiting.nspace = id.participants.front().nspace;
      waiting.operation = Title(id, sequence);
      waiting.age_ms = static_cast<uint64_t>(now - instance.started) / 1000000;
      waiting.callers = static_cast<uint32_t>(instance.waiters.size());
      waiting.missing = MissingIn(series, instance);
      if (waiting.missing.size() > kMaxMissing) {
        waiting.more_missing = waiting.missing.size() - kMaxMissing;
        waiting.missing.resize(kMaxMissing);
      }
      out->push_back(std::move(waiting));
    }
  }
}

}  // namespace canopy::core
