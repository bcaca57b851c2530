#include "server/library/hosted_sets.h"

#include "server/core/pset/set_events.h"

namespace canopy::library {

Status HostedSets::AddMember(const ProcId& member,
                             std::set<ProcId>* all) const {
  const HostedJob* job = jobs_.Find(member.nspace);
  const bool known =
      job != nullptr && job->told != nullptr && !job->told->no_data;
  const size_t size = known ? job->told->job.procs.size() : 0;
  if (member.rank != kRankWildcard) {
    const bool there = known ? member.rank < size : member.rank <= kRankValid;
    if (!there) {
      return Status(kErrBadParam, ToString(member) + ": no such rank");
    }
    all->insert(member);
    return Status();
  }
  if (!known) return Status(kErrNotFound, member.nspace + " is not registered");
  if (size > kMaxSetMembers) return Status(kErrOutOfResource);
  for (Rank rank = 0; rank < size; ++rank) all->insert({member.nspace, rank});
  return Status();
}

Result<core::EventRaised> HostedSets::Define(
    const std::string& name, const std::vector<ProcId>& members) {
  if (name.empty() || name.size() > kMaxSetName || members.empty()) {
    return Status(kErrBadParam, "a process set needs a name and members");
  }
  if (jobs_.Find(name) != nullptr) {
    return Status(kErrBadParam, name + " is a namespace");
  }
  if (names_.contains(name)) return Status(kErrExists, name + " is defined");
  std::set<ProcId> all;
  for (const ProcId& member : members) {
    const Status added = AddMember(member, &all);
    if (!added.ok()) return added;
    if (all.size() > kMaxSetMembers) return Status(kErrOutOfResource);
  }
  if (names_.size() >= kMaxSets) return Status(kErrOutOfResource);
  names_.insert(name);
  return core::SetDefined({self_, ++number_}, name, {all.begin(), all.end()});
}

Result<core::EventRaised> HostedSets::Delete(const std::string& name) {
  if (names_.erase(name) == 0) {
    return Status(kErrNotFound, name + " is no process set of the host");
  }
  return core::SetDeleted({self_, ++number_}, name);
}

}  // namespace canopy::library
