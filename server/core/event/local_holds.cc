#include "server/core/event/local_holds.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "common/describe.h"
#include "server/core/data_range.h"
#include "server/core/event/event_info.h"
#include "server/core/event/lifecycle.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

// Key of the time for which processes have been held, in nanoseconds. A
// negative value means that no process is held.
constexpr char kHeldKey[] = "canopy.held";

// Returns the event that notifies the other agents of the holds of this agent.
// Every agent receives this event, but no process does. An agent that does not
// know the key takes the event for a release without targets.
EventRaised Word(const std::string& nspace, int64_t age) {
  Encoder info;
  info.PutSize(2);
  PutInfo(kHeldKey, PMIX_INT64, &info);
  info.PutInt64(age);
  PutFlag(kDoNotCacheKey, &info);
  EventRaised event;
  event.status = kDebuggerRelease;
  event.source = {nspace, kRankWildcard};
  event.range = static_cast<uint8_t>(DataRange::kCustom);
  event.targets = {{nspace, kRankInvalid}};
  event.info = Bytes(info.Take());
  return event;
}

// The persisted record of the processes that are held.
struct HeldRecord {
  TimeNs since = kNever;
  std::vector<Rank> at_exec;
  std::vector<Rank> waiting;
  std::vector<Rank> freed;
};

template <typename V>
void Describe(V& v, wire::Is<HeldRecord> auto& m) {
  v.Always(1, m.since);
  v.Field(2, m.at_exec);
  v.Field(3, m.waiting);
  v.Field(4, m.freed);
}

std::vector<Rank> ListOf(const std::set<Rank>& ranks) {
  return {ranks.begin(), ranks.end()};
}

std::set<Rank> LocalOf(const Job& job, const std::vector<Rank>& ranks) {
  std::set<Rank> local;
  for (const Rank rank : ranks) {
    if (job.is_local(rank)) local.insert(rank);
  }
  return local;
}

}  // namespace

std::optional<std::pair<std::string, HoldWord>> HoldWordIn(
    TimeNs now, const EventMessage& event) {
  if (event.status != kDebuggerRelease || event.source.rank != kRankWildcard) {
    return std::nullopt;
  }
  Decoder in(event.info.view());
  uint16_t type = 0;
  int64_t age = 0;
  if (!SeekInfo(kHeldKey, &in) || !in.GetUint16(&type) || type != PMIX_INT64 ||
      !in.GetInt64(&age)) {
    return std::nullopt;
  }
  HoldWord word{event.origin, event.number, age >= 0, now};
  if (age > 0) word.since = age < now ? now - age : 0;
  return std::pair(event.source.nspace, word);
}

LocalHolds::Held* LocalHolds::Find(const ProcId& proc) {
  const auto it = held_.find(proc.nspace);
  return it == held_.end() ? nullptr : &it->second;
}

void LocalHolds::OnStarted(TimeNs now, const std::string& nspace) {
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr || !job->spec->debug.on_exec) return;
  Held& held = held_[nspace];
  for (const Rank rank : job->local_ranks()) {
    const bool stops = Stops(job->spec->debug.on_exec, rank);
    if (stops && !job->ranks[rank].ended) held.at_exec.insert(rank);
  }
  Update(now, nspace, &held);
}

void LocalHolds::OnWaits(TimeNs now, const ProcId& proc) {
  Held& held = held_[proc.nspace];
  if (held.freed.erase(proc.rank) == 0) held.waiting.insert(proc.rank);
  Update(now, proc.nspace, &held);
}

void LocalHolds::OnReleased(TimeNs now, const ProcId& proc, bool kept) {
  Held& held = held_[proc.nspace];
  held.at_exec.erase(proc.rank);
  const bool waited = held.waiting.erase(proc.rank) > 0;
  if (!waited && kept) held.freed.insert(proc.rank);
  Update(now, proc.nspace, &held);
}

void LocalHolds::OnFree(TimeNs now, const ProcId& proc) {
  Held* const held = Find(proc);
  if (held == nullptr) return;
  if (held->at_exec.erase(proc.rank) + held->waiting.erase(proc.rank) == 0) {
    return;
  }
  Update(now, proc.nspace, held);
}

void LocalHolds::Update(TimeNs now, const std::string& nspace, Held* held) {
  const bool held_before = held->since != kNever;
  const bool changes = held->any() != held_before;
  if (changes) held->since = held->any() ? now : kNever;
  if (held->any() || held_before) Persist(nspace, *held);
  if (changes) Post(EventDue{Word(nspace, held->any() ? 0 : -1)});
  if (!held->any() && held->freed.empty()) held_.erase(nspace);
}

void LocalHolds::Persist(const std::string& nspace, const Held& held) const {
  const HeldRecord record{held.since, ListOf(held.at_exec),
                          ListOf(held.waiting), ListOf(held.freed)};
  Post(HoldsRecorded{
      {nspace, KeyOf(JournalRecordType::kHeld), Bytes(wire::Encode(record))}});
}

void LocalHolds::Recover(TimeNs now, const std::string& nspace,
                         const PersistedRecord& record) {
  const Job* job = jobs_.Find(nspace);
  HeldRecord read;
  if (job == nullptr || !IsKeyOf(JournalRecordType::kHeld, record.key) ||
      !wire::Decode(record.value, &read)) {
    return;
  }
  Held held;
  held.since = read.since;
  held.at_exec = LocalOf(*job, read.at_exec);
  held.waiting = LocalOf(*job, read.waiting);
  held.freed = LocalOf(*job, read.freed);
  if (!held.any() && held.freed.empty()) return;
  held.since = held.any() ? std::clamp<TimeNs>(held.since, 0, now) : kNever;
  if (held.any()) Post(EventDue{Word(nspace, now - held.since)});
  held_[nspace] = std::move(held);
}

void LocalHolds::Describe(TimeNs now, const std::string& nspace,
                          std::vector<Waiting>* out) const {
  for (const auto& [job, held] : held_) {
    if (!nspace.empty() && nspace != job) continue;
    Describe(now, job, held, kHeldAtExec, held.at_exec, out);
    Describe(now, job, held, kHeldInProgram, held.waiting, out);
  }
}

void LocalHolds::Describe(TimeNs now, const std::string& nspace,
                          const Held& held, const char* operation,
                          const std::set<Rank>& ranks,
                          std::vector<Waiting>* out) const {
  const Job* job = jobs_.Find(nspace);
  if (ranks.empty() || job == nullptr) return;
  Waiting waiting;
  waiting.nspace = nspace;
  waiting.operation = operation;
  waiting.age_ms = static_cast<uint64_t>(now - held.since) / 1'000'000;
  for (const Rank rank : ranks) {
    if (waiting.missing.size() == kMaxMissing) {
      waiting.more_missing = ranks.size() - kMaxMissing;
      break;
    }
    waiting.missing.push_back({{nspace, rank}, job->agent_of(rank), true});
  }
  out->push_back(std::move(waiting));
}

void LocalHolds::OnPeerIsNew(TimeNs now) const {
  for (const auto& [nspace, held] : held_) {
    if (held.any()) Post(EventDue{Word(nspace, now - held.since)});
  }
}

void LocalHolds::OnJobRemoved(const std::string& nspace) {
  const auto held = held_.extract(nspace);
  if (!held.empty() && held.mapped().any()) Post(EventDue{Word(nspace, -1)});
}

}  // namespace canopy::core
