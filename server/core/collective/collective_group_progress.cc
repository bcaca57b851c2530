// The part of the state machine of a collective that only process groups have.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective_messages.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/collective_progress.h"
#include "server/core/collective/collective_records.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_result.h"
#include "server/core/step/step_context.h"

namespace canopy::core {
namespace {

CollectiveId ConstructOf(const std::string& name,
                         const std::vector<ProcId>& participants) {
  return {CollectiveOp::kGroupConstruct, participants, 0, name};
}

// Returns the members of this node that have left and may not have received a
// reply.
std::vector<ProcId> WhoHasLeft(const Group& group, const JobTable& jobs) {
  std::vector<ProcId> left = group.left;
  std::erase_if(left, [&](const ProcId& proc) {
    const Job* job = jobs.Find(proc.nspace);
    return job == nullptr || !job->is_local(proc.rank);
  });
  return left;
}

bool IsHere(const Job& job, Rank rank) {
  return rank == kRankWildcard ? job.local_node != kNoNode : job.is_local(rank);
}

// Calls `what` for each job with participants on this node. Every such job's
// journal has the record; a record in only one journal would get out of date in
// the others. Participants are sorted by namespace.
void ForEachLocalJob(const std::vector<ProcId>& participants,
                     const JobTable& jobs,
                     const std::function<void(const std::string&)>& what) {
  const std::string* last = nullptr;
  for (const ProcId& proc : participants) {
    if (last != nullptr && proc.nspace == *last) continue;
    const Job* job = jobs.Find(proc.nspace);
    if (job == nullptr || !IsHere(*job, proc.rank)) continue;
    last = &proc.nspace;
    what(proc.nspace);
  }
}

}  // namespace

bool SharesTooMuch(const Instance& instance) {
  return instance.shared_below + instance.group.shared.size() >
         kMaxSharedOfGroup;
}

// Returns whether no process of the node can take part any more.
bool CollectiveProgress::IsOverFor(const Series& series, NodeId node) const {
  if (series.suspects.empty() || node == p_.self) return false;
  return !p_.tree.alive(node) ||
         !HasLivingOn(series.id.participants, p_.jobs, node);
}

// The number is unique during the life of the overlay, whichever agent makes
// it: it contains the node's number, and an agent's earlier incarnations made
// lower numbers.
void CollectiveProgress::MakeResult(TimeNs now, const Series& series,
                                    Instance* instance) {
  constexpr int kNodeBits = 16;  // at most 65536 nodes
  constexpr int kTickBits = 16;  // a tick is 65 us
  if (series.id.op == CollectiveOp::kGroupDestruct) {
    GroupRecord ended;
    ended.made = instance->group.made;
    if (ended.made != 0) instance->result = EncodeGroupRecord(ended);
    return;
  }
  GroupRecord result = SumOf(series, *instance, p_.jobs);
  last_made_ =
      std::max(last_made_ + 1, static_cast<uint64_t>(now) >> kTickBits);
  result.made = last_made_ << kNodeBits | p_.self;
  if ((result.flags & kGroupAssignsContextId) != 0) {
    result.context_id = result.made;
  }
  instance->result = EncodeGroupRecord(result);
}

// A member has received the replies to all earlier ends, from this agent or a
// predecessor. This must be recorded for a successor: the counts that processes
// report to it lack the ends of groups that they have left.
std::vector<ProcId> CollectiveProgress::SkipEndsBefore(const Group& group,
                                                       uint64_t sequence,
                                                       Series& series) {
  std::vector<ProcId> members;
  for (size_t i = 0; i < series.arrivals.size(); ++i) {
    const ProcId& proc = series.members->local[i];
    if (!group.Has(proc)) continue;
    series.arrivals[i] = std::max(series.arrivals[i], sequence);
    members.push_back(proc);
  }
  return members;
}

void CollectiveProgress::TakeGroup(const StepContext& step, Series& series,
                                   uint64_t sequence,
                                   CompletedCollective& completed,
                                   uint64_t made) {
  CollectiveId id = series.id;
  id.sequence = sequence;
  // A process that has left may be in the next group before the end of the last
  // one is known here.
  const Group* now = p_.groups.Find(id.name, id.participants);
  if (id.op == CollectiveOp::kGroupDestruct && now != nullptr && made != 0 &&
      now->record.made != made) {
    return;
  }
  const bool succeeded = completed.status == kSuccess;
  if (id.op == CollectiveOp::kGroupDestruct && now != nullptr) {
    completed.members = SkipEndsBefore(*now, sequence, series);
  }
  if (id.op == CollectiveOp::kGroupDestruct && succeeded) {
    ForgetConstruct(step, series, p_.groups.Find(id.name, id.participants));
  }
  if (series.members->local.empty()) return;
  p_.groups.OnCompleted(id, completed.status, completed.result);
  if (id.op != CollectiveOp::kGroupConstruct || !succeeded) return;
  const Group* group = p_.groups.Find(id.name, id.participants);
  if (group == nullptr) return;
  if (!group->record.missing.empty()) {
    step.Post(GroupIncomplete{id.name, id.participants});
  }
  for (ProcId& proc : FollowedByOthers(series, group->record, p_.jobs)) {
    step.Post(MemberFollowed{id.name, id.participants, std::move(proc)});
  }
  for (ProcId& proc : p_.groups.TakeLeftEarly(group->record.made)) {
    step.Post(MemberFollowed{id.name, id.participants, std::move(proc)});
  }
}

void CollectiveProgress::NoteFailed(const StepContext& step,
                                    const Series& series,
                                    const CompletedCollective& completed,
                                    const ProcId& leader) {
  const bool of_missing = completed.status == kErrProcAborted ||
                          completed.status == kErrProcTermWoSync;
  if (series.id.op != CollectiveOp::kGroupConstruct || !of_missing ||
      series.members->LocalIndex(leader) < 0) {
    return;
  }
  step.Post(FailedConstruct{series.id.name, leader, completed.missing});
}

// A process that takes part in the end of a group has received the reply to the
// group's construct. Agents without members do not know which construct that
// was.
void CollectiveProgress::ForgetConstruct(const StepContext& step,
                                         const Series& destruct,
                                         const Group* group) {
  const CollectiveId id =
      ConstructOf(destruct.id.name, destruct.id.participants);
  Series* construct = p_.table.Find(id);
  if (construct == nullptr || construct->next == 0) return;
  const uint64_t last =
      group == nullptr ? construct->next - 1 : group->sequence;
  construct->Forget(last);
  if (!persists_ || group == nullptr) return;
  const CollectiveRecord record{last,  kSuccess, false,
                                false, {},       WhoHasLeft(*group, p_.jobs)};
  ForEachLocalJob(id.participants, p_.jobs, [&](const std::string& nspace) {
    step.out.push_back(EncodeCollective(nspace, id, record));
  });
}

void CollectiveProgress::PersistLeft(const StepContext& step,
                                     const Group& group) const {
  if (!persists_) return;
  const CollectiveId id = ConstructOf(group.name, group.participants);
  const CollectiveRecord record{group.sequence, kSuccess,     true,
                                false,          group.result, group.left};
  ForEachLocalJob(id.participants, p_.jobs, [&](const std::string& nspace) {
    step.out.push_back(EncodeCollective(nspace, id, record));
  });
}

// Only the agent of a process that is gone knows for certain whether the
// process had left the group before. That agent contributes to the end, or
// fails it.
void CollectiveProgress::AskToEnd(const StepContext& step, const Series& series,
                                  uint64_t sequence, NodeId node,
                                  Instance* instance) const {
  if (!instance->asked_to_end.insert(node).second) return;
  SendTo(step, p_.self, node, ContributionsUp(series, sequence, kSuccess, {}));
}

}  // namespace canopy::core
