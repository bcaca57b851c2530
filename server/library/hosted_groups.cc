#include "server/library/hosted_groups.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/collective/group_record.h"
#include "server/core/named_procs.h"

namespace canopy::library {
namespace {

using core::GroupRecord;

bool IsShared(std::string_view key) {
  return key == PMIX_GROUP_INFO || key == PMIX_GROUP_ENDPT_DATA;
}

// Returns the contribution of this node.
GroupRecord OwnRecord(const core::CollectiveUp& up) {
  for (const core::NodeContribution& one : up.contributions) {
    if (one.node == kSelf) {
      return core::DecodeGroupRecord(one.data).value_or(GroupRecord());
    }
  }
  return {};
}

// Replaces the shared infos of the record if the host's answer has any.
void TakeShared(const InfoList& answer, GroupRecord* record) {
  Encoder shared;
  size_t count = 0;
  for (const pmix_info_t& info : answer) {
    if (!IsShared(KeyOf(info))) continue;
    shared.PutInfo(info);
    ++count;
  }
  if (count == 0) return;
  record->num_shared = count;
  record->shared = shared.Take();
}

// Returns the members that the host's answer lists, or no value if it lists
// none.
Result<std::optional<std::vector<ProcId>>> MembersIn(const InfoList& answer) {
  const pmix_info_t* told = answer.Find(PMIX_GROUP_MEMBERSHIP);
  if (told == nullptr) return std::optional<std::vector<ProcId>>();
  const Value value = Value::FromC(told->value);
  const auto procs = value.AsProcs();
  if (!procs)
    return Status(
        kErrUnpackFailure,
        "the host's PMIX_GROUP_MEMBERSHIP is not an array of processes");
  std::vector<ProcId> members;
  for (const pmix_proc_t& proc : *procs) members.push_back(FromC(proc));
  return std::optional(std::move(members));
}

}  // namespace

bool HostedGroups::IsOurs(const core::CollectiveUp& up) const {
  return (OwnRecord(up).flags & core::kGroupAssignsContextId) == 0 &&
         jobs_.AreHere(up.id.participants);
}

InfoList HostedGroups::DirectivesOf(const core::CollectiveUp& up,
                                    InfoList asked) {
  asked.Remove(PMIX_GROUP_INFO);
  asked.Remove(PMIX_GROUP_ENDPT_DATA);
  const GroupRecord own = OwnRecord(up);
  Decoder shared(own.shared);
  for (size_t i = 0; i < own.num_shared; ++i) {
    pmix_info_t info = {};
    if (!shared.GetInfo(&info)) break;
    asked.Adopt(&info);
  }
  return asked;
}

Result<Bytes> HostedGroups::ResultOf(const core::CollectiveUp& up,
                                     const InfoList& answer) {
  GroupRecord result = OwnRecord(up);
  if (up.id.op == core::CollectiveOp::kGroupDestruct) {
    GroupRecord ended;
    ended.made = result.made;
    return ended.made == 0 ? Bytes() : core::EncodeGroupRecord(ended);
  }
  const Result<std::optional<std::vector<ProcId>>> members = MembersIn(answer);
  if (!members.ok()) return members.status();
  if (*members) {
    result.missing = Expand(up.id.participants);
    std::erase_if(result.missing, [&](const ProcId& proc) {
      return core::Names(**members, proc);
    });
  }
  TakeShared(answer, &result);
  if ((result.flags & core::kGroupAssignsContextId) != 0) {
    result.context_id = answer.FindUint(PMIX_GROUP_CONTEXT_ID).value_or(0);
    if (result.context_id == 0) {
      return Status(kErrNotSupported, "the host assigns no context id");
    }
  }
  result.made = ++made_;
  return core::EncodeGroupRecord(result);
}

std::vector<ProcId> HostedGroups::Expand(
    const std::vector<ProcId>& participants) const {
  std::vector<ProcId> procs;
  for (const ProcId& proc : participants) {
    const HostedJob* job = jobs_.Find(proc.nspace);
    if (proc.rank != kRankWildcard) {
      procs.push_back(proc);
    } else if (job != nullptr && job->spec != nullptr) {
      for (Rank rank = 0; rank < job->spec->procs.size(); ++rank) {
        procs.push_back({proc.nspace, rank});
      }
    }
  }
  return procs;
}

}  // namespace canopy::library
