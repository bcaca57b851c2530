#include "server/core/pset/process_sets.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/seek_info.h"
#include "common/job_name.h"
#include "common/status.h"
#include "server/core/event/events.h"
#include "server/core/pset/set_events.h"
#include "server/core/pset/set_keys.h"
#include "server/core/step/share.h"

namespace canopy::core {
namespace {

std::optional<std::string> NameIn(const Bytes& info) {
  Decoder in(info.view());
  uint16_t type = 0;
  std::string_view name;
  const bool read = SeekInfo(kSetNameKey, &in) && in.GetUint16(&type) &&
                    type == PMIX_STRING && in.GetString(&name) &&
                    !name.empty() && name.size() <= kMaxSetName;
  return read ? std::optional<std::string>(name) : std::nullopt;
}

// Returns the event of the end of a set. The hash distinguishes it from the
// ends of the job's other sets.
EventRaised EndOf(const std::string& nspace, const std::string& name,
                  uint64_t user) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  EventRaised event = SetDeleted({{nspace, kRankWildcard}, hash}, name);
  event.user = user;
  return event;
}

std::optional<std::vector<ProcId>> MembersIn(const Bytes& info) {
  Decoder in(info.view());
  uint16_t type = 0;
  uint16_t of = 0;
  size_t count = 0;
  if (!SeekInfo(kSetMembersKey, &in) || !in.GetUint16(&type) ||
      type != PMIX_DATA_ARRAY || !in.GetUint16(&of) || of != PMIX_PROC ||
      !in.GetSize(&count) || count > kMaxSetMembers) {
    return std::nullopt;
  }
  std::vector<ProcId> members;
  for (size_t i = 0; i < count; ++i) {
    ProcId member;
    if (!in.GetProc(&member)) return std::nullopt;
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

bool ProcessSets::HasRoomFor(const std::string& owner) const {
  const auto own = std::ranges::count_if(
      sets_, [&](const auto& set) { return set.second.owner == owner; });
  return HasShare(kMaxProcessSets, sets_.size(), static_cast<size_t>(own));
}

int ProcessSets::Check(const std::string& owner, const std::string& name,
                       const std::vector<ProcId>& members) const {
  if (name.empty() || name.size() > kMaxSetName) return kErrBadParam;
  if (IsJobName(name) || jobs_.Find(name) != nullptr) return kErrBadParam;
  if (sets_.contains(name)) return kErrExists;
  if (!HasRoomFor(owner)) return kErrOutOfResource;
  size_t count = 0;
  for (const ProcId& member : members) {
    const Job* job = jobs_.Find(member.nspace);
    if (job == nullptr) return kErrNotFound;
    const bool all = member.rank == kRankWildcard;
    if (!all && member.rank >= job->num_ranks()) return kErrBadParam;
    count += all ? job->num_ranks() : 1;
    if (count > kMaxSetMembers) return kErrOutOfResource;
  }
  return kSuccess;
}

std::vector<ProcId> ProcessSets::Resolve(
    const std::vector<ProcId>& members) const {
  std::set<ProcId> all;
  for (const ProcId& member : members) {
    if (member.rank != kRankWildcard) {
      all.insert(member);
      continue;
    }
    const uint32_t size = jobs_.Find(member.nspace)->num_ranks();
    for (Rank rank = 0; rank < size; ++rank) all.insert({member.nspace, rank});
  }
  return {all.begin(), all.end()};
}

uint64_t ProcessSets::UserOf(const ProcId& definer) const {
  const auto owner = jobs_.OwnerOf(definer);
  return owner ? uint64_t{owner->uid} + 1 : 0;
}

bool ProcessSets::IsDefined(const ProcId& definer, uint64_t id,
                            const std::string& name) const {
  const auto set = sets_.find(name);
  return set != sets_.end() && set->second.definer == definer &&
         set->second.event == DefinitionId(id);
}

EventRaised ProcessSets::Define(const ProcId& definer, uint64_t id,
                                const std::string& name,
                                const std::vector<ProcId>& members) const {
  EventRaised event = SetDefined({definer, id}, name, Resolve(members));
  event.user = UserOf(definer);
  return event;
}

std::vector<EventRaised> ProcessSets::OfApplications(const Job& job) const {
  std::map<std::string, std::vector<ProcId>> found;
  const JobSpec& spec = *job.spec;
  for (Rank rank = 0; rank < job.num_ranks(); ++rank) {
    const std::string& name = spec.apps[spec.procs[rank].app].pset;
    if (!name.empty()) found[name].push_back({spec.nspace, rank});
  }
  std::vector<EventRaised> events;
  for (const auto& [name, members] : found) {
    if (Check(spec.nspace, name, {}) != kSuccess ||
        members.size() > kMaxSetMembers) {
      continue;
    }
    const ProcId definer = {spec.nspace, kRankWildcard};
    events.push_back(SetOfApplication({definer, events.size()}, name, members));
    events.back().user = UserOf(definer);
  }
  return events;
}

std::vector<EventRaised> ProcessSets::DeletionsOf(
    const std::string& nspace) const {
  std::vector<EventRaised> events;
  for (const auto& [name, set] : sets_) {
    if (set.owner != nspace) continue;
    events.push_back(EndOf(nspace, name, set.user));
  }
  return events;
}

void ProcessSets::EndLate(const std::string& nspace) {
  for (EventRaised& end : DeletionsOf(nspace)) {
    Post(LateSetEnded{std::move(end)});
  }
  Drop(nspace);
}

void ProcessSets::Drop(const std::string& nspace) {
  std::erase_if(sets_,
                [&](const auto& set) { return set.second.owner == nspace; });
}

// An event that a process raises by itself does not have a number of an agent,
// and is ignored.
bool ProcessSets::OnEvent(const EventMessage& event) {
  if (event.status != kSetDefine && event.status != kSetDelete) return false;
  if ((event.request & kAgentsEvent) == 0) return false;
  const auto name = NameIn(event.info);
  if (!name) return false;
  const auto known = sets_.find(*name);
  const std::string& owner = event.source.nspace;
  if (event.status == kSetDelete) {
    // The host's sets belong to no job, and end one by one.
    const bool job_is_over = event.source.rank == kRankWildcard;
    if (job_is_over && !over_.Contains(owner)) over_.Add(owner);
    const bool own = known != sets_.end() && known->second.owner == owner;
    if (own) sets_.erase(known);
    return false;
  }
  if (over_.Contains(owner)) {
    Post(LateSetEnded{EndOf(owner, *name, event.user)});
    return false;
  }
  auto members = MembersIn(event.info);
  if (!members || known != sets_.end() || sets_.size() >= kMaxProcessSets) {
    return false;
  }
  sets_[*name] = {owner,        event.source,        event.request,
                  event.origin, *std::move(members), event.user};
  return true;
}

}  // namespace canopy::core
