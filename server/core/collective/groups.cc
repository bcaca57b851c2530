#include "server/core/collective/groups.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/status.h"
#include "server/core/collective/collective_plan.h"

namespace canopy::core {

bool Group::Has(const ProcId& proc) const {
  const ProcId all = {proc.nspace, kRankWildcard};
  return (std::ranges::binary_search(participants, proc) ||
          std::ranges::binary_search(participants, all)) &&
         !std::ranges::binary_search(record.missing, proc) &&
         !std::ranges::binary_search(left, proc);
}

std::vector<ProcId> Group::Members(const JobTable& jobs) const {
  std::vector<ProcId> members = MembersWhere(
      participants, jobs, [](NodeId, const RankState&) { return true; });
  std::erase_if(members, [&](const ProcId& proc) { return !Has(proc); });
  return members;
}

void Groups::OnCompleted(const CollectiveId& id, int status,
                         const Bytes& result) {
  if (id.op == CollectiveOp::kGroupDestruct) {
    groups_.erase({id.name, id.participants});
  } else if (status == kSuccess) {
    Recover(id, true, result, {});
  }
}

void Groups::Recover(const CollectiveId& id, bool exists, const Bytes& result,
                     std::vector<ProcId> left) {
  const Key key{id.name, id.participants};
  if (!exists) {
    groups_.erase(key);
    return;
  }
  // If the record of a destruct states that the group exists, that group is the
  // next one of that name. The record of its construct restores it.
  if (id.op != CollectiveOp::kGroupConstruct) return;
  std::optional<GroupRecord> record = DecodeGroupRecord(result);
  if (!record) return;
  std::ranges::sort(record->missing);
  // The shared data was already given to the members.
  record->shared.clear();
  record->num_shared = 0;
  groups_[key] =
      Group{id.name, id.participants, id.sequence, *std::move(record),
            result,  std::move(left)};
}

std::vector<ProcId> Groups::TakeLeftEarly(uint64_t made) {
  std::vector<ProcId> left;
  std::erase_if(left_early_, [&](const auto& item) {
    if (item.first != made) return false;
    left.push_back(item.second);
    return true;
  });
  return left;
}

void Groups::NoteLeft(uint64_t made, const ProcId& proc) {
  left_early_.emplace_back(made, proc);
  if (left_early_.size() > kMaxLeftEarly) left_early_.pop_front();
}

void Groups::DropJob(const std::string& nspace) {
  std::erase_if(left_early_,
                [&](const auto& item) { return item.second.nspace == nspace; });
  std::erase_if(groups_, [&](const auto& item) {
    return std::ranges::any_of(
        item.second.participants,
        [&](const ProcId& proc) { return proc.nspace == nspace; });
  });
}

const Group* Groups::Find(const std::string& name,
                          const std::vector<ProcId>& participants) const {
  const auto it = groups_.find({name, participants});
  return it == groups_.end() ? nullptr : &it->second;
}

const Group* Groups::FindOf(const std::string& name, const ProcId& proc) const {
  for (auto it = groups_.lower_bound({name, {}});
       it != groups_.end() && it->first.first == name; ++it) {
    if (it->second.Has(proc)) return &it->second;
  }
  return nullptr;
}

bool Groups::ReplaceNames(const ProcId& proc, const JobTable& jobs,
                          std::vector<ProcId>* procs) const {
  if (groups_.empty()) return true;
  std::vector<ProcId> out;
  std::string_view last = proc.nspace;
  const Group* group = nullptr;
  for (const ProcId& named : *procs) {
    if (named.nspace != last) {
      last = named.nspace;
      const bool is_job = last == proc.nspace || jobs.Find(named.nspace);
      group = is_job ? nullptr : FindOf(named.nspace, proc);
    }
    if (group == nullptr) {
      out.push_back(named);
      continue;
    }
    const std::vector<ProcId> members = group->Members(jobs);
    if (named.rank == kRankWildcard) {
      out.insert(out.end(), members.begin(), members.end());
    } else if (named.rank < members.size()) {
      out.push_back(members[named.rank]);
    } else {
      return false;
    }
  }
  *procs = std::move(out);
  return true;
}

std::vector<const Group*> Groups::Of(const ProcId& proc) const {
  std::vector<const Group*> out;
  for (const auto& [key, group] : groups_) {
    if (group.Has(proc)) out.push_back(&group);
  }
  return out;
}

const Group* Groups::Leave(const std::string& name, const ProcId& proc,
                           uint64_t made) {
  const Group* group = FindOf(name, proc);
  if (group == nullptr || (made != 0 && group->record.made != made)) {
    return nullptr;
  }
  std::vector<ProcId>& left =
      groups_.at({group->name, group->participants}).left;
  left.insert(std::ranges::lower_bound(left, proc), proc);
  return group;
}

}  // namespace canopy::core
