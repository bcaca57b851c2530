#include "server/core/collective/group_operations.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective_data.h"
#include "server/core/collective/collective_records.h"
#include "server/core/collective/group_record.h"
#include "server/core/collective/group_result.h"
#include "server/core/collective/group_shared.h"

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

// Calls `what` for each job with participants on this node. The journal of
// every such job has the record of a group. A change that reached only one
// journal would leave old records in the others. Participants are sorted by
// namespace.
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

// Advances the counts of the local members past the earlier destructs of the
// series, and returns these members. They have received the replies to those
// destructs. A successor must know this from a record, because the counts that
// processes report to it lack the ends of groups that they have left.
std::vector<ProcId> SkipEndsBefore(const Group& group, uint64_t sequence,
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

CollectiveId IdOf(const Series& series, uint64_t sequence) {
  CollectiveId id = series.id;
  id.sequence = sequence;
  return id;
}

}  // namespace

// ------------------------------------------------------ both operations ---

void GroupOperation::OnContribution(const Bytes& data,
                                    Instance* instance) const {
  const auto record = DecodeGroupRecord(data);
  if (!record) return;
  instance->group.flags |= record->flags;
  if (record->made != 0) instance->group.made = record->made;
  instance->shared_below += record->shared.size();
}

// The release contains the contributions reduced to the members' committed
// data, because the result contains everything else.
void GroupOperation::FillRelease(const CompletedCollective& completed,
                                 NodeId to, CollectiveDown* down) const {
  down->result = completed.result;
  for (const auto& [node, one] : MembersDataOf(completed.contributions)) {
    if (one.via == to) continue;
    GroupRecord record;
    record.committed = one.data.view();
    down->contributions.push_back({node, EncodeGroupRecord(record)});
  }
}

void GroupOperation::FillRecovered(const Series& series, uint64_t sequence,
                                   CollectiveDown* down) const {
  down->result = series.RecoveredResult(sequence);
}

bool GroupOperation::IsInEffect(const CollectiveId& id) const {
  return parts().groups.Find(id.name, id.participants) != nullptr;
}

// ------------------------------------------------------------ construct ---

Bytes GroupConstruct::OwnContribution(const Series& series,
                                      Instance* instance) const {
  std::string committed;
  if (!instance->keeps_data && series.members->nodes.size() > 1) {
    committed = MembersData(series, *instance, parts().modex);
  }
  return GroupContribution(series, *instance, parts().jobs,
                           std::move(committed));
}

// The number of the group (GroupRecord::made) is unique during the life of the
// overlay, whichever agent makes it: it contains the node's number, and earlier
// incarnations of the agent made lower numbers.
void GroupConstruct::MakeResult(TimeNs now, const Series& series,
                                Instance* instance) {
  constexpr int kNodeBits = 16;  // at most 65536 nodes
  constexpr int kTickBits = 16;  // a tick is 65 us
  GroupRecord result = SumOf(series, *instance, parts().jobs);
  last_made_ =
      std::max(last_made_ + 1, static_cast<uint64_t>(now) >> kTickBits);
  result.made = last_made_ << kNodeBits | parts().self;
  if ((result.flags & kGroupAssignsContextId) != 0) {
    result.context_id = result.made;
  }
  instance->result = EncodeGroupRecord(result);
}

void GroupConstruct::StoreData(const StepContext& step,
                               const CompletedCollective& completed) const {
  const auto result = DecodeGroupRecord(completed.result);
  PublishData(step, parts().self, MembersDataOf(completed.contributions),
              parts().jobs, &parts().modex);
  if (!result) return;
  PublishShared(step, *result, parts().jobs, persists_, &parts().modex);
}

void GroupConstruct::OnCompleted(const StepContext& step, Series& series,
                                 uint64_t sequence,
                                 const Instance& /*instance*/,
                                 CompletedCollective* completed) {
  if (series.members->local.empty()) return;
  const CollectiveId id = IdOf(series, sequence);
  parts().groups.OnCompleted(id, completed->status, completed->result);
  if (completed->status != kSuccess) return;
  const Group* group = parts().groups.Find(id.name, id.participants);
  if (group != nullptr) Announce(step, series, *group);
}

void GroupConstruct::Announce(const StepContext& step, const Series& series,
                              const Group& group) const {
  const CollectiveId& id = series.id;
  if (!group.record.missing.empty()) {
    step.Post(GroupIncomplete{id.name, id.participants});
  }
  for (ProcId& proc : FollowedByOthers(series, group.record, parts().jobs)) {
    step.Post(MemberFollowed{id.name, id.participants, std::move(proc)});
  }
  for (ProcId& proc : parts().groups.TakeLeftEarly(group.record.made)) {
    step.Post(MemberFollowed{id.name, id.participants, std::move(proc)});
  }
}

void GroupConstruct::OnFailed(const StepContext& step, const Series& series,
                              const Instance& instance,
                              const CompletedCollective& completed) const {
  const bool of_missing = completed.status == kErrProcAborted ||
                          completed.status == kErrProcTermWoSync;
  const ProcId& leader = instance.group.leader;
  if (!of_missing || series.members->LocalIndex(leader) < 0) return;
  step.Post(FailedConstruct{series.id.name, leader, completed.missing});
}

void GroupConstruct::PersistLeft(const StepContext& step,
                                 const Group& group) const {
  if (!persists_) return;
  const CollectiveId id = ConstructOf(group.name, group.participants);
  const CollectiveRecord record{group.sequence, kSuccess,     true,
                                false,          group.result, group.left};
  ForEachLocalJob(id.participants, parts().jobs,
                  [&](const std::string& nspace) {
                    step.out.push_back(EncodeCollective(nspace, id, record));
                  });
}

// Drops the results of the group's construct, because a process that takes part
// in the group's end has received them. An agent without members does not know
// which construct that was, and drops all.
void GroupConstruct::Forget(const StepContext& step, const Series& destruct,
                            const Group* group) const {
  const CollectiveId id =
      ConstructOf(destruct.id.name, destruct.id.participants);
  Series* construct = parts().table.Find(id);
  if (construct == nullptr || construct->next == 0) return;
  const uint64_t last =
      group == nullptr ? construct->next - 1 : group->sequence;
  construct->Forget(last);
  if (!persists_ || group == nullptr) return;
  const CollectiveRecord record{
      last, kSuccess, false, false, {}, WhoHasLeft(*group, parts().jobs)};
  ForEachLocalJob(id.participants, parts().jobs,
                  [&](const std::string& nspace) {
                    step.out.push_back(EncodeCollective(nspace, id, record));
                  });
}

// ------------------------------------------------------------- destruct ---

// A participant that has left the group, or that did not take part in its
// construct, is not a member and does not arrive. It counts as arrived.
void GroupDestruct::OnBegin(Series& series, uint64_t sequence,
                            Instance* instance) const {
  const Group* group =
      parts().groups.Find(series.id.name, series.id.participants);
  if (group == nullptr) return;
  instance->group.flags = group->record.flags;
  instance->group.made = group->record.made;
  for (size_t i = 0; i < instance->arrived.size(); ++i) {
    if (group->Has(series.members->local[i])) continue;
    instance->arrived[i] = true;
    ++instance->num_arrived;
    series.arrivals[i] = std::max(series.arrivals[i], sequence + 1);
  }
}

Bytes GroupDestruct::OwnContribution(const Series& series,
                                     Instance* instance) const {
  return GroupContribution(series, *instance, parts().jobs, {});
}

void GroupDestruct::MakeResult(TimeNs /*now*/, const Series& /*series*/,
                               Instance* instance) {
  GroupRecord ended;
  ended.made = instance->group.made;
  if (ended.made != 0) instance->result = EncodeGroupRecord(ended);
}

void GroupDestruct::OnCompleted(const StepContext& step, Series& series,
                                uint64_t sequence, const Instance& instance,
                                CompletedCollective* completed) {
  const CollectiveId id = IdOf(series, sequence);
  const Group* group = parts().groups.Find(id.name, id.participants);
  const uint64_t made = MadeOf(instance);
  // A process that has left may be in the next group before this agent learns
  // of the end of the previous group.
  if (group != nullptr && made != 0 && group->record.made != made) return;
  if (group != nullptr) {
    completed->members = SkipEndsBefore(*group, sequence, series);
  }
  if (completed->status == kSuccess) construct_.Forget(step, series, group);
  if (series.members->local.empty()) return;
  parts().groups.OnCompleted(id, completed->status, completed->result);
}

}  // namespace canopy::core
