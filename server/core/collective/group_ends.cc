#include "server/core/collective/group_ends.h"

#include <algorithm>

namespace canopy::core {

bool GroupEnds::OnLeft(const StepContext& step, const ProcId& proc,
                       const std::string& group, uint64_t made) {
  const Group* left = p_.groups.Leave(group, proc, made);
  if (left == nullptr) {
    if (made != 0) p_.groups.NoteLeft(made, proc);
    return false;
  }
  p_.progress.PersistLeft(step, *left);
  const Job* job = p_.jobs.Find(proc.nspace);
  if (job == nullptr || !job->is_local(proc.rank)) return true;
  const CollectiveId id{CollectiveOp::kGroupDestruct, left->participants, 0,
                        group};
  Series* series = p_.table.FindOrAddFor(proc.nspace, id);
  if (series != nullptr && p_.lookup.Resolve(step, *series)) {
    EndFor(step, *series, series->members->LocalIndex(proc));
  }
  return true;
}

void GroupEnds::EndFor(const StepContext& step, Series& series, int index) {
  const uint64_t sequence = std::max(series.arrivals[index], series.next);
  Instance& instance = p_.progress.FindOrBegin(step.now, series, sequence);
  if (!instance.arrived[index]) {
    instance.arrived[index] = true;
    ++instance.num_arrived;
    series.arrivals[index] = sequence + 1;
  }
  p_.progress.Advance(step, series, sequence);
}

bool GroupEnds::HasLeftBefore(const ProcId& proc,
                              const CollectiveId& end) const {
  const auto left = left_before_.find({proc, end.name});
  return left != left_before_.end() &&
         left->second.groups.contains(end.participants);
}

// Skips the destructs that have ended, for a member of the present group and
// for a process that has left the last one. A member has received the replies
// to these destructs, from this agent or a predecessor. A process that has left
// does not expect any reply.
void GroupEnds::SkipLeft(Series& series, int index) const {
  if (series.id.op != CollectiveOp::kGroupDestruct) return;
  const ProcId& proc = series.members->local[index];
  const Group* group = p_.groups.Find(series.id.name, series.id.participants);
  const bool is_member = group != nullptr && group->Has(proc);
  if (!is_member && !HasLeftBefore(proc, series.id)) return;
  series.arrivals[index] = std::max(series.arrivals[index], series.next);
}

std::map<ProcId, uint64_t> GroupEnds::EndsBefore(const Series& series) const {
  std::map<ProcId, uint64_t> ends;
  if (series.id.op != CollectiveOp::kGroupDestruct) return ends;
  const Group* group = p_.groups.Find(series.id.name, series.id.participants);
  if (group == nullptr) return ends;
  for (const ProcId& proc : group->Members(p_.jobs)) {
    const Job* job = p_.jobs.Find(proc.nspace);
    if (job->is_local(proc.rank)) ends[proc] = series.next;
  }
  return ends;
}

void GroupEnds::Recover(const CollectiveId& construct,
                        const std::vector<ProcId>& left) {
  // Forgets the processes that left an earlier group of the same series.
  for (auto& [key, before] : left_before_) {
    if (key.second == construct.name) {
      before.groups.erase(construct.participants);
    }
  }
  for (const ProcId& proc : left) {
    const Job* job = p_.jobs.Find(proc.nspace);
    if (job != nullptr && job->is_local(proc.rank)) {
      left_before_[{proc, construct.name}].groups.insert(
          construct.participants);
    }
  }
}

// Returns the ends of those groups of the job that have a participant which is
// not a member.
std::vector<CollectiveId> GroupEnds::EndsWithoutSome(
    const std::string& nspace) const {
  std::vector<CollectiveId> ends;
  for (const auto& [key, group] : p_.groups.all()) {
    const bool of_job =
        std::ranges::count(group.participants, nspace, &ProcId::nspace) > 0;
    if (!of_job || (group.record.missing.empty() && group.left.empty())) {
      continue;
    }
    ends.push_back(
        {CollectiveOp::kGroupDestruct, group.participants, 0, group.name});
  }
  return ends;
}

void GroupEnds::Resume(const StepContext& step, const std::string& nspace) {
  for (const CollectiveId& id : EndsWithoutSome(nspace)) {
    Series* series = p_.table.FindOrAddFor(nspace, id);
    if (series == nullptr || !p_.lookup.Resolve(step, *series)) continue;
    const Group* group = p_.groups.Find(id.name, id.participants);
    const bool has_left =
        group != nullptr &&
        std::ranges::any_of(series->members->local, [&](const ProcId& proc) {
          return !group->Has(proc);
        });
    if (!has_left || !series->active.empty()) {
      if (series->IsBlank()) p_.table.Erase(*series);
      continue;
    }
    p_.progress.FindOrBegin(step.now, *series, series->next);
    p_.progress.Advance(step, *series, series->next);
  }
}

void GroupEnds::DropJob(const std::string& nspace) {
  std::erase_if(left_before_, [&](const auto& item) {
    return item.first.first.nspace == nspace;
  });
}

}  // namespace canopy::core
