#include "server/core/collective/series.h"

#include <algorithm>

namespace canopy::core {

bool Series::IsBlank() const {
  const auto none = [](uint64_t count) { return count == 0; };
  return active.empty() && completed.empty() && deferred.empty() &&
         refused.empty() && reattached.empty() && next == 0 && recovered == 0 &&
         std::ranges::all_of(arrivals, none);
}

// `next` may be any number that a client has claimed, so it must not be reached
// by counting.
void Series::SkipOver(uint64_t* arrivals) const {
  *arrivals = std::max(*arrivals, next);
  while (completed.contains(*arrivals)) ++*arrivals;
}

bool Series::Names(std::string_view nspace) const {
  const auto& procs = id.participants;
  const auto it = std::ranges::lower_bound(procs, nspace, {}, &ProcId::nspace);
  return it != procs.end() && it->nspace == nspace;
}

bool Series::Includes(const ProcId& proc) const {
  const auto& procs = id.participants;
  return std::ranges::binary_search(procs, proc) ||
         std::ranges::binary_search(procs, ProcId{proc.nspace, kRankWildcard});
}

std::vector<uint64_t> Series::ActiveSequences() const {
  std::vector<uint64_t> out;
  for (const auto& [sequence, instance] : active) out.push_back(sequence);
  return out;
}

bool Series::SetMembers(const JobTable& jobs, const Tree& tree, NodeId self) {
  Result<CollectiveMembers> found = FindMembers(id.participants, jobs, self);
  members = found.ok() ? std::move(*found) : CollectiveMembers();
  arrivals.resize(members->local.size());
  arrivals_known.resize(members->local.size());
  UpdatePlace(jobs, tree, self);
  return found.ok();
}

void Series::UpdatePlace(const JobTable& jobs, const Tree& tree, NodeId self) {
  if (place_version == tree.version()) return;
  place = FindPlace(*members, tree, self);
  place_version = tree.version();
  FindSuspects(jobs, tree);
}

void Series::FindSuspects(const JobTable& jobs, const Tree& tree) {
  suspects.clear();
  const bool no_node_lost = tree.version() == 0;
  if (no_node_lost && NobodyIsGone(id.participants, jobs)) return;
  suspects = MembersWhere(id.participants, jobs,
                          [&](NodeId node, const RankState& state) {
                            return state.gone() || !tree.alive(node);
                          });
}

Instance& Series::FindOrAddInstance(TimeNs now, uint64_t sequence) {
  const auto [it, added] = active.try_emplace(sequence);
  if (added) {
    it->second.started = now;
    it->second.arrived.resize(members->local.size());
  }
  return it->second;
}

void Series::AdvanceNext() {
  while (completed.contains(next)) ++next;
}

void Series::SkipEarlier(uint64_t sequence) {
  next = std::max(next, sequence + 1);
  std::erase_if(active, [&](const auto& item) {
    return item.first < sequence && item.second.waiters.empty();
  });
}

void Series::PruneCompleted(const JobTable& jobs) {
  uint64_t last_success = 0;
  for (const auto& [sequence, one] : completed) {
    if (one.status == kSuccess) last_success = sequence;
  }
  uint64_t awaited = UINT64_MAX;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const ProcId& proc = members->local[i];
    const Job* job = jobs.Find(proc.nspace);
    if (job == nullptr || job->ranks[proc.rank].ended) continue;
    awaited = std::min(awaited, arrivals[i]);
  }
  const uint64_t keep = std::min({last_success, awaited, next});
  completed.erase(completed.begin(), completed.lower_bound(keep));
}

void Series::Forget(uint64_t sequence) {
  completed.erase(completed.begin(), completed.upper_bound(sequence));
  if (recovered <= sequence + 1) recovered_result = {};
}

void Series::ApplyReattached() {
  for (const auto& [proc, ended] : std::exchange(reattached, {})) {
    const int index = members->LocalIndex(proc);
    if (index < 0) continue;
    arrivals_known[index] = true;
    arrivals[index] = std::max(arrivals[index], ended);
    recovered = std::max(recovered, ended);
  }
  next = std::max(next, recovered);
  AdvanceNext();
}

void Series::KeepRecovered() {
  Series kept;
  kept.id = id;
  kept.charged_to = charged_to;
  kept.number = number;
  kept.jobs = std::move(jobs);
  kept.deadlines = std::move(deadlines);
  kept.next = kept.recovered = recovered;
  kept.recovered_result = recovered_result;
  kept.reattached = reattached;
  for (const auto& [sequence, one] : completed) {
    kept.completed[sequence].status = one.status;
    kept.completed[sequence].result = one.result;
  }
  for (size_t i = 0; members && i < arrivals.size(); ++i) {
    if (!arrivals_known[i] && arrivals[i] == 0) continue;
    kept.reattached[members->local[i]] = arrivals[i];
  }
  *this = std::move(kept);
}

}  // namespace canopy::core
