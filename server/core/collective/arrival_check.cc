#include "server/core/collective/arrival_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective_directives.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_result.h"

namespace canopy::core {
namespace {

bool IsSupported(CollectiveOp op) {
  return op == CollectiveOp::kFence || op == CollectiveOp::kConnect ||
         op == CollectiveOp::kDisconnect || IsGroupOp(op);
}

// Returns true if the rank still waits in its last collective and may not
// arrive at another one. A process may call several fences without waiting. A
// second process of the rank, or a second connect of one process, may not
// arrive.
bool ArrivesTwice(const Series& series, ClientId client, int index) {
  const uint64_t arrivals = series.arrivals[index];
  if (arrivals == 0) return false;
  const auto last = series.active.find(arrivals - 1);
  if (last == series.active.end()) return false;
  const auto& waiters = last->second.waiters;
  const auto it = std::ranges::find(waiters, series.members->local[index],
                                    &CollectiveWaiter::proc);
  return it != waiters.end() &&
         (it->client != client || series.id.op != CollectiveOp::kFence);
}

}  // namespace

int ArrivalCheck::Identify(const CollectiveArrived& in, const ProcId& proc,
                           CollectiveId* id) const {
  if (!IsSupported(in.op)) return kErrNotSupported;
  if (IsGroupOp(in.op)) return IdentifyGroup(in, proc, id);
  if (const int status = CheckDirectives(in.info); status != kSuccess) {
    return status;
  }
  if (const int status = CheckCounts(in.participants, proc.nspace, p_.jobs);
      status != kSuccess) {
    return status;
  }
  *id = {in.op, in.participants, 0};
  // The names are checked before the list is sorted, so that an invalid list
  // costs little.
  if (!p_.groups.ReplaceNames(proc, p_.jobs, &id->participants) ||
      NamesNobody(id->participants, proc.nspace, p_.jobs)) {
    return kErrBadParam;
  }
  return Canonicalise(proc.nspace, &id->participants).ok() ? kSuccess
                                                           : kErrBadParam;
}

int ArrivalCheck::IdentifyGroup(const CollectiveArrived& in, const ProcId& proc,
                                CollectiveId* id) const {
  if (in.name.empty() || in.name.size() > kMaxNspaceLen) return kErrBadParam;
  GroupDirectives directives;
  const int status = ParseGroupDirectives(in.info, proc, in.op, &directives);
  if (status != kSuccess) return status;
  if (const int counts = CheckCounts(in.participants, proc.nspace, p_.jobs);
      counts != kSuccess) {
    return counts;
  }
  *id = {in.op, in.participants, 0, in.name};
  if (id->participants.empty()) {
    if (in.op == CollectiveOp::kGroupConstruct) return kErrBadParam;
    const Group* group = p_.groups.FindOf(in.name, proc);
    if (group == nullptr) return kErrNotFound;
    id->participants = group->participants;
    return kSuccess;
  }
  if (!p_.groups.ReplaceNames(proc, p_.jobs, &id->participants) ||
      NamesNobody(id->participants, proc.nspace, p_.jobs) ||
      !Canonicalise(proc.nspace, &id->participants).ok()) {
    return kErrBadParam;
  }
  NameWholeJobs(p_.jobs, &id->participants);
  const bool is_nspace =
      std::ranges::count(id->participants, in.name, &ProcId::nspace) > 0;
  return is_nspace ? kErrBadParam : kSuccess;
}

int ArrivalCheck::Accepts(const Series& series, const CollectiveArrived& in,
                          int index) const {
  if (index < 0) return kErrBadParam;
  const uint64_t arrivals = series.arrivals[index];
  if (series.id.op == CollectiveOp::kDisconnect &&
      // An arrival at a completed disconnect is a repetition and is not
      // refused.
      arrivals >= series.next &&
      !p_.connections.Contains(series.id.participants)) {
    return kErrInvalidOperation;
  }
  if (IsGroupOp(series.id.op)) {
    const int status = AcceptsGroup(series, in, index);
    if (status != kSuccess) return status;
  }
  if (arrivals >= series.next + kMaxPipelined) return kErrResourceBusy;
  return ArrivesTwice(series, in.client, index) ? kErrInvalidOperation
                                                : kSuccess;
}

int ArrivalCheck::AcceptsGroup(const Series& series,
                               const CollectiveArrived& in, int index) const {
  const bool ends = series.id.op == CollectiveOp::kGroupDestruct;
  // An arrival at a completed destruct is a repetition and is not refused.
  if (ends && series.arrivals[index] >= series.next) {
    const Group* group = p_.groups.Find(series.id.name, series.id.participants);
    if (group == nullptr || !group->Has(series.members->local[index])) {
      return kErrNotFound;
    }
  }
  GroupDirectives directives;
  (void)ParseGroupDirectives(in.info, series.members->local[index],
                             series.id.op, &directives);
  const auto& nodes = series.members->nodes;
  if (directives.local_only && nodes != std::vector<NodeId>{p_.self}) {
    return kErrBadParam;
  }
  return kSuccess;
}

int ArrivalCheck::RefusalOf(const CollectiveId& id, const Instance& instance,
                            const ProcId& proc) const {
  if (id.op != CollectiveOp::kGroupConstruct) return kSuccess;
  if (p_.groups.FindOf(id.name, proc) != nullptr) return kErrExists;
  return SharesTooMuch(instance) ? kErrOutOfResource : kSuccess;
}

}  // namespace canopy::core
