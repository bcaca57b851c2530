// What the engine does for process groups alone.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/group_directives.h"

namespace canopy::core {

int Collectives::CheckGroup(const CollectiveArrived& in, const ProcId& proc,
                            CollectiveId* id) const {
  if (in.name.empty() || in.name.size() > kMaxNspaceLen) return kErrBadParam;
  GroupDirectives directives;
  const int status = ParseGroupDirectives(in.info, &directives);
  if (status != kSuccess) return status;
  *id = {in.op, in.participants, 0, in.name};
  if (id->participants.empty()) {
    if (in.op == CollectiveOp::kGroupConstruct) return kErrBadParam;
    const Group* group = groups_.FindOf(in.name, proc);
    if (group == nullptr) return kErrNotFound;
    id->participants = group->participants;
    return kSuccess;
  }
  if (NamesNobody(in.participants, proc.nspace, jobs_) ||
      !Canonicalise(proc.nspace, &id->participants).ok()) {
    return kErrBadParam;
  }
  NameWholeJobs(jobs_, &id->participants);
  const bool is_nspace =
      std::ranges::count(id->participants, in.name, &ProcId::nspace) > 0;
  return is_nspace ? kErrBadParam : kSuccess;
}

// Of a participant that is known.
int Collectives::CheckGroupIndex(const Series& series,
                                 const CollectiveArrived& in, int index) const {
  const bool ends = series.id.op == CollectiveOp::kGroupDestruct;
  // An arrival at a completed one is a repetition.
  if (ends && series.arrivals[index] >= series.next) {
    const Group* group = groups_.Find(series.id.name, series.id.participants);
    if (group == nullptr || !group->Has(series.members->local[index])) {
      return kErrNotFound;
    }
  }
  GroupDirectives directives;
  (void)ParseGroupDirectives(in.info, &directives);
  const auto& nodes = series.members->nodes;
  if (directives.local_only && nodes != std::vector<NodeId>{self_}) {
    return kErrBadParam;
  }
  return HasOldNode(series) ? kErrNotSupported : kSuccess;
}

// Old agents drop the messages, also those that only pass them on the way to
// the top.
bool Collectives::HasOldNode(const Series& series) const {
  if (old_nodes_.empty()) return false;
  std::vector<NodeId> living = series.members->nodes;
  std::erase_if(living, [&](NodeId node) { return !tree_.alive(node); });
  const NodeId top = tree_.TopOf(living);
  return std::ranges::any_of(living, [&](NodeId node) {
    for (;; node = tree_.parent(node)) {
      if (old_nodes_.contains(node)) return true;
      if (node == top || node == kNoNode) return false;
    }
  });
}

// Each agent of a waiting member does so itself: the others may not be reached.
void Collectives::RefuseThroughOldNodes(StepContext& step) {
  if (old_nodes_.empty()) return;
  for (auto& [id, series] : table_.all()) {
    if (!IsGroupOp(id.op) || !series.members || series.active.empty() ||
        !HasOldNode(series)) {
      continue;
    }
    for (const uint64_t sequence : series.ActiveSequences()) {
      const auto it = series.active.find(sequence);
      if (it == series.active.end() || it->second.waiters.empty()) continue;
      progress_.Fail(step, series, sequence, kErrNotSupported, {}, kNoNode);
    }
  }
}

void Collectives::OnNodeIsOld(TimeNs now, NodeId node, bool old,
                              Actions* actions) {
  StepContext step{now, *actions};
  if (old) {
    old_nodes_.insert(node);
    RefuseThroughOldNodes(step);
  } else {
    old_nodes_.erase(node);
  }
}

// They were checked before.
void Collectives::TakeDirectives(StepContext& step, const CollectiveArrived& in,
                                 const ProcId& proc, Instance* instance) {
  GroupDirectives directives;
  (void)ParseGroupDirectives(in.info, &directives);
  if (directives.leads) directives.record.leader = proc;
  instance->group.Merge(directives.record);
  NoteIgnored(step, directives.ignored);
}

void Collectives::NoteIgnored(StepContext& step,
                              const std::vector<std::string>& keys) {
  constexpr size_t kMaxIgnored = 256;
  for (const std::string& key : keys) {
    if (ignored_.size() >= kMaxIgnored || !ignored_.insert(key).second) {
      continue;
    }
    step.out.push_back(LogLine{
        LogLine::Level::kInfo,
        "ignoring " + key + ", which operations on groups do not honour"});
  }
}

int Collectives::RefusalOf(const CollectiveId& id, const Instance& instance,
                           const ProcId& proc) const {
  if (id.op != CollectiveOp::kGroupConstruct) return kSuccess;
  if (groups_.FindOf(id.name, proc) != nullptr) return kErrExists;
  return SharesTooMuch(instance) ? kErrOutOfResource : kSuccess;
}

void Collectives::TakeBackArrival(Series& series, int index) const {
  if (series.id.op != CollectiveOp::kGroupConstruct ||
      series.arrivals[index] == 0) {
    return;
  }
  const auto it = series.active.find(series.arrivals[index] - 1);
  if (it == series.active.end()) return;
  Instance& instance = it->second;
  if (!instance.arrived[index] || instance.contributions.contains(self_))
    return;
  instance.arrived[index] = false;
  --instance.num_arrived;
  --series.arrivals[index];
}

bool Collectives::OnLeft(TimeNs now, const ProcId& proc,
                         const std::string& group, uint64_t made,
                         Actions* actions) {
  StepContext step{now, *actions};
  const Group* left = groups_.Leave(group, proc, made);
  if (left == nullptr) {
    if (made != 0) groups_.NoteLeft(made, proc);
    return false;
  }
  progress_.PersistLeft(step, *left);
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr || !job->is_local(proc.rank)) return true;
  const CollectiveId id{CollectiveOp::kGroupDestruct, left->participants, 0,
                        group};
  Series* series = table_.FindOrAddFor(proc.nspace, id);
  if (series != nullptr && Resolve(step, *series)) {
    EndFor(step, *series, series->members->LocalIndex(proc));
  }
  return true;
}

void Collectives::EndFor(StepContext& step, Series& series, int index) {
  const uint64_t sequence = std::max(series.arrivals[index], series.next);
  Instance& instance = progress_.FindOrBegin(step.now, series, sequence);
  if (!instance.arrived[index]) {
    instance.arrived[index] = true;
    ++instance.num_arrived;
    series.arrivals[index] = sequence + 1;
  }
  progress_.Advance(step, series, sequence);
}

bool Collectives::HasLeftBefore(const ProcId& proc,
                                const CollectiveId& end) const {
  const auto left = left_before_.find({proc, end.name});
  return left != left_before_.end() &&
         left->second.groups.contains(end.participants);
}

// Who is a member has had the answers to all before, by whichever agent; and
// who has left has none to get.
void Collectives::SkipLeft(Series& series, int index) const {
  if (series.id.op != CollectiveOp::kGroupDestruct) return;
  const ProcId& proc = series.members->local[index];
  const Group* group = groups_.Find(series.id.name, series.id.participants);
  const bool is_member = group != nullptr && group->Has(proc);
  if (!is_member && !HasLeftBefore(proc, series.id)) return;
  series.arrivals[index] = std::max(series.arrivals[index], series.next);
}

std::map<ProcId, uint64_t> Collectives::EndsBefore(const Series& series) const {
  std::map<ProcId, uint64_t> ends;
  if (series.id.op != CollectiveOp::kGroupDestruct) return ends;
  const Group* group = groups_.Find(series.id.name, series.id.participants);
  if (group == nullptr) return ends;
  for (const ProcId& proc : group->Members(jobs_)) {
    const Job* job = jobs_.Find(proc.nspace);
    if (job->is_local(proc.rank)) ends[proc] = series.next;
  }
  return ends;
}

void Collectives::RecoverLeft(const CollectiveId& construct,
                              const std::vector<ProcId>& left) {
  // Of an earlier group of the series nothing counts any more.
  for (auto& [key, before] : left_before_) {
    if (key.second == construct.name) {
      before.groups.erase(construct.participants);
    }
  }
  for (const ProcId& proc : left) {
    const Job* job = jobs_.Find(proc.nspace);
    if (job != nullptr && job->is_local(proc.rank)) {
      left_before_[{proc, construct.name}].groups.insert(
          construct.participants);
    }
  }
}

void Collectives::ResumeEnds(StepContext& step, const std::string& nspace) {
  std::vector<CollectiveId> ends;
  for (const auto& [key, group] : groups_.all()) {
    const bool of_job =
        std::ranges::count(group.participants, nspace, &ProcId::nspace) > 0;
    if (!of_job || (group.record.missing.empty() && group.left.empty())) {
      continue;
    }
    ends.push_back(
        {CollectiveOp::kGroupDestruct, group.participants, 0, group.name});
  }
  for (const CollectiveId& id : ends) {
    Series* series = table_.FindOrAddFor(nspace, id);
    if (series == nullptr || !Resolve(step, *series)) continue;
    const Group* group = groups_.Find(id.name, id.participants);
    const auto& local = series->members->local;
    const bool begun = group != nullptr && !series->active.empty();
    const auto left = std::ranges::find_if(
        local, [&](const ProcId& proc) { return !group->Has(proc); });
    if (begun || left == local.end()) {
      if (series->IsBlank()) table_.Erase(*series);
      continue;
    }
    progress_.FindOrBegin(step.now, *series, series->next);
    progress_.Advance(step, *series, series->next);
  }
}

std::optional<CollectiveId> Collectives::IdOf(const CollectiveCount& count,
                                              const ProcId& proc) const {
  CollectiveId id{count.op, count.participants, 0, count.name};
  if (!IsGroupOp(id.op)) {
    if (!Canonicalise(proc.nspace, &id.participants).ok()) return std::nullopt;
    return id;
  }
  if (id.participants.empty() || id.name.empty() ||
      id.name.size() > kMaxNspaceLen ||
      !Canonicalise(proc.nspace, &id.participants).ok()) {
    return std::nullopt;
  }
  NameWholeJobs(jobs_, &id.participants);
  return id;
}

}  // namespace canopy::core
