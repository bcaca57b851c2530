// What the engine does for process groups alone.
#include <algorithm>
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

bool Collectives::HasOldNode(const Series& series) const {
  return std::ranges::any_of(
      old_nodes_, [&](NodeId node) { return series.members->HasNode(node); });
}

// They were checked before.
void Collectives::TakeDirectives(const CollectiveArrived& in,
                                 const ProcId& proc, Instance* instance) const {
  GroupDirectives directives;
  (void)ParseGroupDirectives(in.info, &directives);
  if (directives.leads) directives.record.leader = proc;
  instance->group.Merge(directives.record);
}

void Collectives::OnNodeIsOld(NodeId node, bool old) {
  if (old) {
    old_nodes_.insert(node);
  } else {
    old_nodes_.erase(node);
  }
}

bool Collectives::OnLeft(TimeNs now, const ProcId& proc,
                         const std::string& group, Actions* actions) {
  StepContext step{now, *actions};
  const Group* left = groups_.Leave(group, proc);
  if (left == nullptr) return false;
  const CollectiveId id{CollectiveOp::kGroupDestruct, left->participants, 0,
                        group};
  progress_.PersistLeft(step, *left);
  const Job* job = jobs_.Find(proc.nspace);
  if (job == nullptr || !job->is_local(proc.rank)) return true;
  // Its part in the group's end is done.
  Series* series = table_.FindOrAddFor(proc.nspace, id);
  if (series == nullptr || !Resolve(step, *series)) return true;
  const int index = series->members->LocalIndex(proc);
  const uint64_t sequence = std::max(series->arrivals[index], series->next);
  Instance& instance = progress_.FindOrBegin(now, *series, sequence);
  if (!instance.arrived[index]) {
    instance.arrived[index] = true;
    ++instance.num_arrived;
    series->arrivals[index] = sequence + 1;
  }
  progress_.Advance(step, *series, sequence);
  return true;
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
