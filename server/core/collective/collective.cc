#include "server/core/collective/collective.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "common/status.h"
#include "common/text.h"
#include "common/time_units.h"
#include "server/core/collective/collective_messages.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/collective_records.h"
#include "server/core/collective/collective_text.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_result.h"
#include "server/core/collective/reattached_counts.h"

namespace canopy::core {
namespace {

TimeNs DeadlineOf(TimeNs now, uint32_t timeout_ms) {
  return timeout_ms == 0 ? kNever : now + timeout_ms * kNsPerMs;
}

// Returns the memory that a deferred arrival needs. It has its own list of the
// participants.
size_t BytesOf(const CollectiveArrived& in) {
  constexpr size_t kName = 64;
  return sizeof(DeferredCollective) + in.info.size() + in.name.size() +
         in.participants.size() * kName;
}

CollectiveWaiter WaiterOf(const CollectiveArrived& in, const ProcId& proc) {
  return {in.client, in.request, proc, in.at_barrier};
}

// Returns the memory that a collective needs when all local participants have
// arrived.
size_t BytesOfInstance(const Series& series) {
  constexpr size_t kNodes = 256;
  return sizeof(Instance) + kNodes +
         series.members->local.size() * (sizeof(CollectiveWaiter) + 1);
}

bool NamesKnownJob(const std::vector<ProcId>& participants,
                   const JobTable& jobs) {
  return std::ranges::any_of(participants, [&](const ProcId& proc) {
    return jobs.Find(proc.nspace) != nullptr;
  });
}

}  // namespace

Collectives::Collectives(NodeId self, const Tree& tree, JobTable& jobs,
                         ModexStore& modex)
    : self_(self),
      jobs_(jobs),
      check_({self, tree, jobs, connections_, groups_}),
      lookup_(self, tree, jobs),
      deferrals_(table_),
      progress_({self, tree, jobs, modex, table_, connections_, groups_}),
      ends_(table_, progress_),
      group_ends_({jobs, table_, groups_, lookup_, progress_}) {}

// ------------------------------------------------------------- arrivals ---

void Collectives::OnArrived(const StepContext& step,
                            const CollectiveArrived& in) {
  Admit(step, in, DeadlineOf(step.now, in.timeout_ms));
}

void Collectives::OnLocalFence(const StepContext& step,
                               const LocalFenceArrived& in) {
  CollectiveArrived one;
  one.collect_data = in.collect_data;
  one.at_barrier = true;
  for (const ClientId client : in.clients) {
    one.client = client;
    Admit(step, one, kNever);
  }
}

void Collectives::Admit(const StepContext& step, const CollectiveArrived& in,
                        TimeNs deadline) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return Reply(step, in, kErrInit);
  CollectiveId id;
  if (const int status = check_.Identify(in, *proc, &id); status != kSuccess) {
    return Reply(step, in, status);
  }
  Series* series = table_.FindOrAddFor(proc->nspace, id);
  if (series == nullptr) {
    return Reply(step, in, kErrOutOfResource);
  }
  if (AnswerRecovered(step, *series, *proc, in)) return;
  if (lookup_.Resolve(step, *series)) {
    Arrive(step, *series, in, deadline);
  } else {
    Defer(step, *series, in, *proc, deadline);
  }
  if (series->IsBlank()) table_.Erase(*series);
}

void Collectives::Defer(const StepContext& step, Series& series,
                        const CollectiveArrived& in, const ProcId& proc,
                        TimeNs deadline) {
  auto charge = pending_.Take(proc.nspace, in.client, BytesOf(in));
  if (!charge) return Reply(step, in, kErrOutOfResource);
  table_.AddJob(series, proc.nspace);
  deferrals_.Add(step, series,
                 DeferredCollective{in, deadline, *std::move(charge)});
}

// This function needs no maps of the other jobs, which may be over.
bool Collectives::AnswerRecovered(const StepContext& step, Series& series,
                                  const ProcId& proc,
                                  const CollectiveArrived& in) const {
  if (series.members || !reattached_.contains(proc)) return false;
  // A member of the group, and a process that has left it, expect no reply to
  // an earlier destruct (GroupEnds::SkipLeft).
  if (in.op == CollectiveOp::kGroupDestruct &&
      (groups_.FindOf(in.name, proc) != nullptr ||
       group_ends_.HasLeftBefore(proc, series.id))) {
    return false;
  }
  uint64_t& ended = series.reattached[proc];
  const auto completed = series.completed.find(ended);
  if (completed == series.completed.end() && ended >= series.recovered) {
    return false;
  }
  ReplyTo(
      step, WaiterOf(in, proc),
      completed == series.completed.end()
          ? AnswerOf(series.id, kSuccess, series.RecoveredResult(ended), jobs_)
          : AnswerOf(series.id, completed->second.status,
                     completed->second.result, jobs_));
  ++ended;
  return true;
}

void Collectives::Arrive(const StepContext& step, Series& series,
                         const CollectiveArrived& in, TimeNs deadline) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;  // disconnected while the map was fetched
  const int index = series.members->LocalIndex(*proc);
  if (index >= 0 && !series.arrivals_known[index]) {
    // A rank that was not connected to the predecessor starts after the
    // recovered collectives. For a rank that was connected, but has reported no
    // count, no collective has ended.
    series.arrivals_known[index] = true;
    if (!reattached_.contains(*proc)) {
      series.arrivals[index] =
          std::max(series.arrivals[index], series.recovered);
    }
  }
  if (index >= 0) group_ends_.SkipLeft(series, index);
  if (const int status = check_.Accepts(series, in, index);
      status != kSuccess) {
    return Reply(step, in, status);
  }
  const uint64_t sequence = series.arrivals[index]++;
  if (!series.IsOver(sequence)) {
    return Accept(step, series, in, sequence, index, deadline);
  }
  const auto completed = series.completed.find(sequence);
  int status = sequence < series.recovered ? kSuccess : kErrProcAborted;
  Bytes result = series.RecoveredResult(sequence);
  if (completed != series.completed.end()) {
    status = completed->second.status;
    result = completed->second.result;
  }
  ReplyTo(step, WaiterOf(in, *proc),
          AnswerOf(series.id, status, result, jobs_));
  series.PruneCompleted(jobs_);
}

void Collectives::Accept(const StepContext& step, Series& series,
                         const CollectiveArrived& in, uint64_t sequence,
                         int index, TimeNs deadline) {
  const ProcId& proc = series.members->local[index];
  const bool is_new = !series.active.contains(sequence);
  std::optional<PendingCharge> charge;
  if (is_new) {
    charge = pending_.Take(proc.nspace, in.client, BytesOfInstance(series));
    if (!charge) {
      --series.arrivals[index];
      return Reply(step, in, kErrOutOfResource);
    }
  }
  Instance& instance = progress_.FindOrBegin(step.now, series, sequence);
  if (is_new) instance.charge = *std::move(charge);
  if (IsGroupOp(series.id.op)) TakeDirectives(step, in, proc, &instance);
  if (series.id.op == CollectiveOp::kGroupConstruct) {
    group_ends_.OnConstructing(proc, series.id.name);
  }
  instance.arrived[index] = true;
  ++instance.num_arrived;
  instance.collect |= in.collect_data;
  instance.waiters.push_back(WaiterOf(in, proc));
  if (deadline != kNever) {
    table_.AddDeadline(series, sequence, step.now, deadline,
                       &instance.deadlines);
  }
  if (const int status = check_.RefusalOf(series.id, instance, proc);
      status != kSuccess) {
    return progress_.ApplyUp(step, series, self_,
                             FailureUp(series, sequence, status, {}));
  }
  if (is_new && progress_.EndIfGone(step, series, sequence)) return;
  progress_.Advance(step, series, sequence);
}

void Collectives::TakeUpDeferred(const StepContext& step, Series& series) {
  std::vector<DeferredCollective> all = deferrals_.Take(series);
  // As the maps of all jobs are known now, NameWholeJobs may change the list of
  // a group's participants. In this case the arrivals belong to another series.
  std::vector<ProcId> named = series.id.participants;
  if (IsGroupOp(series.id.op)) NameWholeJobs(jobs_, &named);
  const bool renamed = named != series.id.participants;
  for (DeferredCollective& one : all) {
    if (const auto* in = std::get_if<CollectiveArrived>(&one.what)) {
      if (renamed) {
        Admit(step, *in, one.deadline);
      } else {
        Arrive(step, series, *in, one.deadline);
      }
    } else if (const auto* up = std::get_if<DeferredUp>(&one.what)) {
      progress_.ApplyUp(step, series, up->first, up->second);
    } else {
      const auto& down = std::get<DeferredDown>(one.what);
      progress_.ApplyDown(step, series, down.first, down.second);
    }
  }
  for (const uint64_t sequence : std::exchange(series.refused, {})) {
    progress_.ApplyUp(step, series, self_,
                      FailureUp(series, sequence, kErrOutOfResource, {}));
  }
}

// --------------------------------------------------------------- groups ---

// The directives are valid, because Accepts has checked them.
void Collectives::TakeDirectives(const StepContext& step,
                                 const CollectiveArrived& in,
                                 const ProcId& proc, Instance* instance) {
  GroupDirectives directives;
  (void)ParseGroupDirectives(in.info, proc, in.op, &directives);
  if (directives.leads) directives.record.leader = proc;
  instance->group.Merge(directives.record);
  instance->keeps_data |= directives.keeps_data;
  NoteIgnored(step, directives.ignored);
}

void Collectives::NoteIgnored(const StepContext& step,
                              const std::vector<std::string>& keys) {
  constexpr size_t kMaxIgnored = 256;
  for (const std::string& key : keys) {
    if (ignored_.size() >= kMaxIgnored || !ignored_.insert(key).second) {
      continue;
    }
    step.out.push_back(
        LogLine{LogLine::Level::kInfo,
                "ignoring " + Printable(key) +
                    ", which operations on groups do not honour"});
  }
}

void Collectives::TakeBackArrival(Series& series, int index) const {
  if (series.id.op != CollectiveOp::kGroupConstruct ||
      series.arrivals[index] == 0) {
    return;
  }
  const auto it = series.active.find(series.arrivals[index] - 1);
  if (it == series.active.end()) return;
  Instance& instance = it->second;
  if (!instance.arrived[index] || instance.contributions.contains(self_)) {
    return;
  }
  instance.arrived[index] = false;
  --instance.num_arrived;
  --series.arrivals[index];
}

bool Collectives::OnLeft(const StepContext& step, const ProcId& proc,
                         const std::string& group, uint64_t made) {
  return group_ends_.OnLeft(step, proc, group, made);
}

// ------------------------------------------------------------- messages ---

void Collectives::OnUp(const StepContext& step, NodeId src,
                       const CollectiveUp& up) {
  Series& series = table_.FindOrAdd(up.id);
  if (!lookup_.Resolve(step, series)) {
    return deferrals_.Add(step, series,
                          DeferredCollective{std::pair(src, up), kNever});
  }
  progress_.ApplyUp(step, series, src, up);
}

void Collectives::OnDown(const StepContext& step, NodeId src,
                         const CollectiveDown& down) {
  Series& series = table_.FindOrAdd(down.id);
  if (!lookup_.Resolve(step, series)) {
    return deferrals_.Add(step, series,
                          DeferredCollective{std::pair(src, down), kNever});
  }
  progress_.ApplyDown(step, series, src, down);
}

// --------------------------------------------------------- jobs and ranks ---

void Collectives::OnJobAdded(const StepContext& step,
                             const std::string& nspace) {
  RenameCounts(nspace, jobs_, &table_);
  table_.ForEachOf(nspace, [&](Series& series) {
    // An arrival that belongs to another series may have resolved this series
    // before.
    const bool waits = !series.members || !series.deferred.empty();
    if (!waits || !series.Names(nspace) || !lookup_.Resolve(step, series)) {
      return;
    }
    TakeUpDeferred(step, series);
    if (series.IsBlank()) table_.Erase(series);
  });
  group_ends_.Resume(step, nspace);
}

void Collectives::OnJobUnknown(const StepContext& step,
                               const std::string& nspace) {
  table_.ForEachOf(nspace, [&](Series& series) {
    if (series.members || !series.Names(nspace)) return;
    deferrals_.Fail(step, series, kErrNotFound);
    KeepRecovered(series);
  });
}

// Returns whether a process may repeat a request that it sent to the
// predecessor. It may if it has not reattached since the collective ended, at
// this agent or at the predecessor. A result without members exists only in
// that case.
bool Collectives::MayBeAskedAgain(const Series& series) const {
  if (series.completed.empty()) return false;
  if (!series.members) return true;
  for (size_t i = 0; i < series.members->local.size(); ++i) {
    const ProcId& proc = series.members->local[i];
    if (!series.arrivals_known[i] && progress_.IsRecovered(proc.nspace)) {
      return true;
    }
  }
  return false;
}

// Called if one of the series' jobs is over or has yet to be recovered. Erases
// the series except for results that local processes may still request.
void Collectives::KeepRecovered(Series& series) {
  if ((series.recovered == 0 && !MayBeAskedAgain(series)) ||
      !NamesKnownJob(series.id.participants, jobs_)) {
    return table_.Erase(series);
  }
  const std::map<ProcId, uint64_t> ends = group_ends_.EndsBefore(series);
  series.KeepRecovered();
  for (const auto& [proc, ended] : ends) {
    uint64_t& known = series.reattached[proc];
    known = std::max(known, ended);
  }
}

void Collectives::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  progress_.DropJob(nspace);
  std::erase_if(reattached_,
                [&](const ProcId& proc) { return proc.nspace == nspace; });
  group_ends_.DropJob(nspace);
  ends_.DropJob(nspace);
  pending_.DropJob(nspace);
  table_.ForEachOf(nspace, [&](Series& series) {
    if (!series.Names(nspace)) return;
    deferrals_.Fail(step, series, kErrJobTerminated);
    for (auto& [sequence, instance] : series.active) {
      for (const CollectiveWaiter& w : instance.waiters) {
        Reply(step, w, kErrJobTerminated);
      }
      table_.Cancel(instance.deadlines);
    }
    KeepRecovered(series);
  });
  connections_.DropJob(nspace);
  groups_.DropJob(nspace);
}

void Collectives::OnClientGone(const StepContext& /*step*/, ClientId client) {
  pending_.DropClient(client);
  const ProcId* proc = jobs_.ProcOf(client);
  if (proc == nullptr) return;
  table_.ForEachOf(proc->nspace,
                   [&](Series& series) { DropWaiters(series, client); });
}

void Collectives::DropWaiters(Series& series, ClientId client) {
  for (auto& [sequence, instance] : series.active) {
    std::erase_if(instance.waiters, [&](const CollectiveWaiter& w) {
      return w.client == client;
    });
  }
  deferrals_.Drop(series, client);
  if (series.IsBlank()) table_.Erase(series);
}

void Collectives::OnRankGone(const StepContext& step, const ProcId& proc) {
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr) return;
  const RankState& state = job->ranks[proc.rank];
  const bool lost = state.lost && !state.ended && !job->ending;
  if (lost) {
    // Other processes may wait for this process in a fence that has not begun
    // at this agent.
    lookup_.Resolve(
        step, table_.FindOrAdd(
                  {CollectiveOp::kFence, {{proc.nspace, kRankWildcard}}, 0}));
  }
  ends_.Add(step, proc, lost);
}

void Collectives::OnRankRestarted(const StepContext& step, const ProcId& proc) {
  // The collectives that fail because of the end of the rank's former process
  // must not wait for the new process.
  ends_.Finish(step, proc.nspace);
  reattached_.erase(proc);
  table_.ForEachOf(proc.nspace, [&](Series& series) {
    series.reattached.erase(proc);
    if (!series.members || !series.Includes(proc)) return;
    const int index = series.members->LocalIndex(proc);
    if (index < 0) return;
    TakeBackArrival(series, index);
    series.SkipOver(&series.arrivals[index]);
    series.PruneCompleted(jobs_);
  });
}

// ------------------------------------------------------------------ agents ---

void Collectives::OnTreeChanged(const StepContext& step) {
  for (auto& [id, series] : table_.all()) {
    if (series.members) progress_.OnTreeChanged(step, series);
  }
}

void Collectives::OnNodeRestarted(const StepContext& step, NodeId node) {
  for (auto& [id, series] : table_.all()) {
    if (series.members) progress_.OnNodeRestarted(step, series, node);
  }
}

void Collectives::OnJobRecovered(const StepContext& /*step*/,
                                 const JobRecovered& in) {
  OnRecovered(in.job->nspace);
  for (const PersistedRecord& record : in.records) Recover(record);
}

void Collectives::Recover(const PersistedRecord& persisted) {
  const auto decoded = DecodeCollective(persisted);
  if (!decoded) return;
  const auto& [id, record] = *decoded;
  if (record.connected) jobs_.NoteMet(id.participants);
  if (IsGroupOp(id.op)) {
    CollectiveId of_record = id;
    of_record.sequence = record.sequence;
    groups_.Recover(of_record, record.connected, record.result, record.left);
    if (id.op == CollectiveOp::kGroupConstruct) {
      group_ends_.Recover(id, record.left);
    }
  } else {
    connections_.Recover(id.participants, record.connected);
  }
  Series& series = table_.FindOrAdd(id);
  if (record.status != kSuccess) {
    series.completed.try_emplace(
        record.sequence,
        CompletedCollective{record.status, {}, {}, {}, kNoNode});
    // A process that has taken part in the end of a group has received the
    // replies to the earlier collectives.
    for (const ProcId& proc : record.left) {
      uint64_t& ended = series.reattached[proc];
      ended = std::max(ended, record.sequence);
    }
    return;
  }
  if (record.sequence + 1 < series.recovered) return;
  series.recovered = record.sequence + 1;
  series.next = series.recovered;
  series.recovered_data = record.collect;
  series.recovered_result = record.result;
  series.AdvanceNext();
}

void Collectives::OnReattached(const StepContext& step,
                               const ClientReattached& in) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;
  // A restarted process has not counted the collectives of the rank's earlier
  // processes.
  const Job* job = jobs_.Find(proc->nspace);
  if (job != nullptr && job->ranks[proc->rank].incarnation > 0) return;
  reattached_.insert(*proc);
  for (const auto& [id, ended] : CountsOf(in.counts, *proc, jobs_)) {
    Series* series = table_.FindOrAddFor(proc->nspace, id);
    if (series == nullptr) continue;
    uint64_t& known = series->reattached[*proc];
    known = std::max(known, ended);
    if (!lookup_.Resolve(step, *series)) continue;
    series->ApplyReattached();
    progress_.ReleaseRecovered(step, *series);
  }
}

// --------------------------------------------------------------- deadlines ---

void Collectives::Count(ResourceCounts* counts) const {
  counts->collectives = num_series();
  counts->connections = num_connections();
  counts->groups = groups_.size();
  counts->deadlines += num_deadlines();
}

void Collectives::OnTick(const StepContext& step) {
  ends_.Continue(step);
  while (const auto expired = table_.TakeExpired(step.now)) {
    Series* const series = expired->series;
    const uint64_t sequence = expired->sequence;
    if (sequence == SeriesTable::kDeferred) {
      deferrals_.Expire(step, *series);
      if (series->IsBlank()) table_.Erase(*series);
    } else if (series->active.contains(sequence) &&
               !PutOff(step.now, *expired)) {
      progress_.Expire(step, *series, sequence);
    }
  }
}

// A process that a debugger holds cannot arrive, so the deadline is moved.
bool Collectives::PutOff(TimeNs now, const SeriesTable::Expired& expired) {
  if (jobs_.holds().empty()) return false;
  Series& series = *expired.series;
  const TimeNs due = jobs_.holds().DueAt(now, expired.since, expired.key.first,
                                         NspacesOf(series.id.participants));
  if (due <= now) return false;
  auto& keys = series.active.at(expired.sequence).deadlines;
  std::erase(keys, expired.key);
  table_.AddDeadline(series, expired.sequence, now, due, &keys);
  return true;
}

void Collectives::Describe(TimeNs now, const std::string& nspace,
                           std::vector<Waiting>* out) const {
  for (const auto& [id, series] : table_.all()) {
    if (!nspace.empty() && !series.Names(nspace)) continue;
    core::Describe(now, series, jobs_, self_, out);
  }
}

}  // namespace canopy::core
