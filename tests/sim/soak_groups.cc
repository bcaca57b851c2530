// Process groups that processes construct, destruct and leave, and the rules
// that hold for their members.
#include <algorithm>
#include <string>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/event/event_info.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr char kConstruct[] = "group construct ";
constexpr char kDestruct[] = "group destruct ";
constexpr char kLeave[] = "group leave ";

Bytes Directives(const std::string& other) {
  Encoder out;
  out.PutSize(other.empty() ? 1 : 2);
  PutFlag(PMIX_GROUP_ASSIGN_CONTEXT_ID, &out);
  if (!other.empty()) PutFlag(other, &out);
  return Bytes(out.Take());
}

bool IsSuccess(int status) {
  return status == kSuccess || status == kErrPartialSuccess;
}

// Returns whether this is the reply of an agent that does not have the group,
// or one of its jobs, any more.
bool IsOfTheEnd(int status) {
  return status == kErrJobTerminated || status == kErrNotFound;
}

std::set<ProcId> MembersIn(const InfoList& results) {
  std::set<ProcId> out;
  const pmix_info_t* info = results.Find(PMIX_GROUP_MEMBERSHIP);
  if (info == nullptr || info->value.type != PMIX_DATA_ARRAY) return out;
  const pmix_data_array_t& array = *info->value.data.darray;
  const auto* procs = static_cast<const pmix_proc_t*>(array.array);
  for (size_t i = 0; i < array.size; ++i) {
    out.insert({procs[i].nspace, procs[i].rank});
  }
  return out;
}

}  // namespace

void Soak::BeginGroup(const ProcId& proc, Actor& actor, const Op& op) {
  if (std::ranges::count(op.some, proc) == 0) return;
  const std::string name = "g" + std::to_string(op.number);
  const std::string played = name + "#" + std::to_string(op.round);
  if (!actor.constructed) {
    BeginConstruct(proc, actor, name, played, op.some, op.directive);
  } else if (proc == op.leaver) {
    actor.operation = kLeave + played;
    actor.waiting = cluster_.clients().LeaveGroup(proc, name);
  } else {
    BeginDestruct(proc, actor, name, played, op.some);
  }
}

void Soak::BeginConstruct(const ProcId& proc, Actor& actor,
                          const std::string& name, const std::string& played,
                          const std::vector<ProcId>& members,
                          const std::string& directive) {
  groups_[played].arrived.insert(proc);
  actor.operation = kConstruct + played;
  actor.waiting =
      cluster_.clients().Group(CollectiveOp::kGroupConstruct, proc, name,
                               members, Directives(directive));
}

void Soak::BeginDestruct(const ProcId& proc, Actor& actor,
                         const std::string& name, const std::string& played,
                         const std::vector<ProcId>& members) {
  actor.operation = kDestruct + played;
  actor.waiting = cluster_.clients().Group(CollectiveOp::kGroupDestruct, proc,
                                           name, members);
}

void Soak::NoteGroupAnswer(Actor& actor, int status) {
  if (!actor.operation.starts_with(kConstruct)) return;
  actor.has_group = IsSuccess(status);
}

bool Soak::IsDropped(const PlannedJob& job) {
  return job.launched && !cluster_.members().alive(job.controller);
}

// Records the status of a construct or destruct. Checks after a construct that
// all members have the same group, that the members have called the construct,
// and that no other group has its context id.
void Soak::CheckConstruct(const ProcId& proc, const Actor& actor,
                          const Answer& answer) {
  const std::string played =
      actor.operation.substr(actor.operation.rfind(' ') + 1);
  PlayedGroup& group = groups_[played];
  if (actor.operation.starts_with(kDestruct)) group.ended.insert(answer.status);
  if (!actor.operation.starts_with(kConstruct)) return;
  group.constructed.insert(answer.status);
  if (!IsSuccess(answer.status)) return;
  InfoList results;
  if (!DecodeInfos(answer.payload, &results)) {
    return Error("malformed results of " + actor.operation);
  }
  const std::set<ProcId> members = MembersIn(results);
  if (!members.contains(proc)) {
    Error(ToString(proc) + " has " + played + " and is no member of it");
  }
  // Members may have different groups if agents were cut off or a job was
  // dropped. After a partition, either side continues without the other, or
  // drops jobs and counts from the beginning while the other keeps its counts.
  // The same holds for agents that learn at different times that the controller
  // of a job is lost, and end the job.
  const bool dropped =
      IsDropped(*actor.job) ||
      std::ranges::any_of(actor.job->partners, [&](const PlannedJob* job) {
        return IsDropped(*job);
      });
  if (!cut_off_ && !dropped) CheckSameGroup(proc, played, members, results);
}

void Soak::CheckSameGroup(const ProcId& proc, const std::string& played,
                          const std::set<ProcId>& members,
                          const InfoList& results) {
  PlayedGroup& group = groups_[played];
  const uint64_t context = results.FindUint(PMIX_GROUP_CONTEXT_ID).value_or(0);
  const std::string& owner =
      contexts_.try_emplace(context, played).first->second;
  if (context == 0) Error("no context id of " + played);
  if (owner != played) Error(played + " has the context id of " + owner);
  if (!std::ranges::includes(group.arrived, members)) {
    Error("a member of " + played + " has not called");
  }
  const bool differs = std::ranges::any_of(group.told, [&](const auto& other) {
    return other.second != std::pair(context, members) &&
           actors_.contains(other.first);
  });
  if (differs)
    Error(ToString(proc) + " has another " + played + " than others");
  group.told[proc] = {context, members};
}

// Checks that all statuses agree. After a fault they may differ, because a lost
// top may have released a collective that the other agents have to fail.
void Soak::CheckOneDecision(const std::string& what,
                            const std::set<int>& statuses) {
  const bool succeeded = std::ranges::any_of(statuses, IsSuccess);
  const bool failed = std::ranges::any_of(statuses, [](int status) {
    return !IsSuccess(status) && !IsOfTheEnd(status);
  });
  if (succeeded && failed && !any_fault_) {
    Error("the " + what + " has succeeded for some and failed for others");
  }
}

}  // namespace canopy::sim
