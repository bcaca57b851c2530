#include "server/core/collective/group_result.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_shared.h"
#include "server/core/step/group_keys.h"

namespace canopy::core {
namespace {

void PutHead(const char* key, Encoder* out) {
  out->PutString(key);
  out->PutUint32(0);
}

bool IsOn(NodeId node, const ProcId& proc, const JobTable& jobs) {
  const Job* job = jobs.Find(proc.nspace);
  return job != nullptr && proc.rank < job->num_ranks() &&
         job->agent_of(proc.rank) == node;
}

uint32_t IncarnationOf(const ProcId& proc, const JobTable& jobs) {
  const Job* job = jobs.Find(proc.nspace);
  return job == nullptr || proc.rank >= job->num_ranks()
             ? 0
             : job->ranks[proc.rank].incarnation;
}

// Returns the members of a group. Participants of jobs that are over at this
// agent are named as in the call.
std::vector<ProcId> MembersOf(const CollectiveId& id, const GroupRecord& record,
                              const JobTable& jobs) {
  std::vector<ProcId> missing = record.missing;
  std::ranges::sort(missing);
  std::vector<ProcId> members = MembersWhere(
      id.participants, jobs, [](NodeId, const RankState&) { return true; });
  for (const ProcId& proc : id.participants) {
    if (jobs.Find(proc.nspace) == nullptr) members.push_back(proc);
  }
  std::ranges::sort(members);
  std::erase_if(members, [&](const ProcId& proc) {
    return std::ranges::binary_search(missing, proc);
  });
  return members;
}

}  // namespace

Bytes GroupContribution(const Series& series, const Instance& instance,
                        const JobTable& jobs, std::string committed) {
  GroupRecord record = instance.group;
  record.committed = std::move(committed);
  for (size_t i = 0; i < instance.arrived.size(); ++i) {
    const ProcId& proc = series.members->local[i];
    if (!instance.arrived[i]) {
      record.missing.push_back(proc);
    } else if (const uint32_t number = IncarnationOf(proc, jobs); number > 0) {
      record.restarted.push_back({proc, number});
    }
  }
  return EncodeGroupRecord(record);
}

bool SharesTooMuch(const Instance& instance) {
  return instance.shared_below + instance.group.shared.size() >
         kMaxSharedOfGroup;
}

GroupRecord SumOf(const Series& series, const Instance& instance,
                  const JobTable& jobs) {
  GroupRecord sum;
  for (const auto& [node, contribution] : instance.contributions) {
    std::optional<GroupRecord> one = DecodeGroupRecord(contribution.data);
    if (!one) continue;
    // A node may only report about its own ranks.
    std::erase_if(one->missing, [&, from = node](const ProcId& proc) {
      return !series.Includes(proc) || !IsOn(from, proc, jobs);
    });
    KeepShared(
        [&, from = node](const ProcId& proc) {
          return series.Includes(proc) && IsOn(from, proc, jobs);
        },
        &*one);
    sum.Merge(*one);
  }
  if (instance.contributions.size() < series.members->nodes.size()) {
    const auto absent = MembersWhere(
        series.id.participants, jobs, [&](NodeId node, const RankState&) {
          return !instance.contributions.contains(node);
        });
    sum.missing.insert(sum.missing.end(), absent.begin(), absent.end());
  }
  std::ranges::sort(sum.missing);
  return sum;
}

std::vector<ProcId> FollowedByOthers(const Series& series,
                                     const GroupRecord& result,
                                     const JobTable& jobs) {
  std::map<ProcId, uint32_t> took_part;
  for (const auto& [proc, before] : result.restarted) {
    took_part.emplace(proc, before);
  }
  std::vector<ProcId> followed;
  for (const ProcId& proc : series.members->local) {
    const uint32_t now = IncarnationOf(proc, jobs);
    if (now > 0 && took_part[proc] < now) followed.push_back(proc);
  }
  return followed;
}

uint64_t MadeOf(const Instance& instance) {
  const auto result = DecodeGroupRecord(instance.result);
  return result && result->made != 0 ? result->made : instance.group.made;
}

CollectiveAnswer AnswerOf(const CollectiveId& id, int status,
                          const Bytes& result, const JobTable& jobs) {
  if (id.op != CollectiveOp::kGroupConstruct || status != kSuccess) {
    return {status, {}};
  }
  const std::optional<GroupRecord> record = DecodeGroupRecord(result);
  if (!record) return {status, {}};
  const std::vector<ProcId> members = MembersOf(id, *record, jobs);
  const bool has_context = record->context_id != 0;
  Encoder out;
  out.PutSize(2u + (has_context ? 1 : 0) + record->num_shared);
  // The context id comes first, because programs written for OpenPMIx 4.2 take
  // the first result for the context id that they have requested.
  if (has_context) {
    PutHead(kGroupContextIdKey, &out);
    out.PutUint16(PMIX_SIZE);
    out.PutSize(record->context_id);
  }
  PutHead(kGroupMembershipKey, &out);
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(PMIX_PROC);
  out.PutSize(members.size());
  for (const ProcId& proc : members) out.PutProc(proc);
  PutHead(kGroupIdKey, &out);
  out.PutUint16(PMIX_STRING);
  out.PutString(id.name);
  out.PutRaw(record->shared);
  const bool partly =
      (record->flags & kGroupIsOptional) != 0 && !record->missing.empty();
  std::vector<ProcId> missing = record->missing;
  std::ranges::sort(missing);
  return {partly ? kErrPartialSuccess : kSuccess, Bytes(out.Take()),
          std::move(missing)};
}

}  // namespace canopy::core
