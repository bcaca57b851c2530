#include "server/core/pset/process_sets.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "common/job_name.h"
#include "common/status.h"
#include "server/core/event/event_info.h"
#include "server/core/event/events.h"

namespace canopy::core {
namespace {

constexpr int kDefine = -55;  // PMIX_PROCESS_SET_DEFINE
constexpr int kDelete = -56;  // PMIX_PROCESS_SET_DELETE

constexpr char kName[] = "pmix.pset.nm";
constexpr char kMembers[] = "pmix.pset.mems";

// Kinds of events of one process or job, in EventRaised::id.
constexpr uint64_t kDefinition = uint64_t{1} << 62;
constexpr uint64_t kOfApplication = uint64_t{1} << 61;
constexpr uint64_t kDeletion = uint64_t{1} << 60;

uint64_t DefinitionId(uint64_t id) {
  return kAgentsEvent | kDefinition | (id & (kDeletion - 1));
}

void PutName(const std::string& name, Encoder* out) {
  PutInfo(kName, PMIX_STRING, out);
  out->PutString(name);
}

// The default handler of Open MPI ends the process whatever it gets.
Bytes Definition(const std::string& name, const std::vector<ProcId>& members) {
  Encoder out;
  out.PutSize(3);
  PutName(name, &out);
  PutFlag(kNonDefaultKey, &out);
  PutInfo(kMembers, PMIX_DATA_ARRAY, &out);
  out.PutUint16(PMIX_PROC);
  out.PutSize(members.size());
  for (const ProcId& member : members) out.PutProc(member);
  return Bytes(out.Take());
}

Bytes Deletion(const std::string& name) {
  Encoder out;
  out.PutSize(3);
  PutName(name, &out);
  PutFlag(kNonDefaultKey, &out);
  PutFlag(kDoNotCacheKey, &out);
  return Bytes(out.Take());
}

EventRaised Event(int status, const ProcId& source, uint64_t id, Bytes info) {
  EventRaised event;
  event.id = kAgentsEvent | id;
  event.status = status;
  event.source = source;
  event.range = static_cast<uint8_t>(EventRange::kSession);
  event.info = std::move(info);
  return event;
}

std::optional<std::string> NameIn(const Bytes& info) {
  Decoder in(info.view());
  uint16_t type = 0;
  std::string_view name;
  const bool read = SeekInfo(kName, &in) && in.GetUint16(&type) &&
                    type == PMIX_STRING && in.GetString(&name) &&
                    !name.empty() && name.size() <= kMaxSetName;
  return read ? std::optional<std::string>(name) : std::nullopt;
}

std::optional<std::vector<ProcId>> MembersIn(const Bytes& info) {
  Decoder in(info.view());
  uint16_t type = 0;
  uint16_t of = 0;
  size_t count = 0;
  if (!SeekInfo(kMembers, &in) || !in.GetUint16(&type) ||
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

int ProcessSets::Check(const std::string& name,
                       const std::vector<ProcId>& members) const {
  if (name.empty() || name.size() > kMaxSetName) return kErrBadParam;
  if (IsJobName(name) || jobs_.Find(name) != nullptr) return kErrBadParam;
  if (sets_.contains(name)) return kErrExists;
  if (sets_.size() >= kMaxProcessSets) return kErrOutOfResource;
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

bool ProcessSets::IsDefined(const ProcId& definer, uint64_t id,
                            const std::string& name) const {
  const auto set = sets_.find(name);
  return set != sets_.end() && set->second.definer == definer &&
         set->second.event == DefinitionId(id);
}

EventRaised ProcessSets::Define(const ProcId& definer, uint64_t id,
                                const std::string& name,
                                const std::vector<ProcId>& members) const {
  return Event(kDefine, definer, DefinitionId(id),
               Definition(name, Resolve(members)));
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
    if (Check(name, {}) != kSuccess || members.size() > kMaxSetMembers) {
      continue;
    }
    events.push_back(Event(kDefine, {spec.nspace, kRankWildcard},
                           kOfApplication | events.size(),
                           Definition(name, members)));
  }
  return events;
}

std::vector<EventRaised> ProcessSets::DeletionsOf(
    const std::string& nspace) const {
  std::vector<EventRaised> events;
  for (const auto& [name, set] : sets_) {
    if (set.owner != nspace) continue;
    events.push_back(Event(kDelete, {nspace, kRankWildcard},
                           kDeletion | events.size(), Deletion(name)));
  }
  return events;
}

void ProcessSets::OnJobRemoved(const std::string& nspace) {
  std::erase_if(sets_,
                [&](const auto& set) { return set.second.owner == nspace; });
}

// What processes notify of by themselves has no number of an agent.
void ProcessSets::OnEvent(const EventMessage& event) {
  if (event.status != kDefine && event.status != kDelete) return;
  if ((event.request & kAgentsEvent) == 0) return;
  const auto name = NameIn(event.info);
  if (!name) return;
  const auto known = sets_.find(*name);
  if (event.status == kDelete) {
    const bool own =
        known != sets_.end() && known->second.owner == event.source.nspace;
    if (own) sets_.erase(known);
    return;
  }
  auto members = MembersIn(event.info);
  if (!members || known != sets_.end() || sets_.size() >= kMaxProcessSets) {
    return;
  }
  sets_[*name] = {event.source.nspace, event.source, event.request,
                  *std::move(members)};
}

}  // namespace canopy::core
