#include "server/core/event/debug_stops.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "server/core/data_range.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/event_info.h"
#include "server/core/event/lifecycle.h"
#include "server/core/named_procs.h"
#include "server/core/publish/digest.h"

namespace canopy::core {
namespace {

constexpr int kReadyForDebug = -58;

constexpr int kSignalContinue = 18;  // SIGCONT

constexpr char kBreakpointKey[] = "pmix.brkpnt";
constexpr char kNspaceKey[] = "pmix.nspace";
constexpr std::string_view kInInit = "pmix-init";
// Used as the name of the breakpoint for processes that are stopped at their
// exec, which raise no event.
constexpr std::string_view kAtExec = "pmix-exec";

// Returns the name of the breakpoint, "" if the event has none, and no value if
// the event is malformed or the name is too long.
std::optional<std::string> BreakpointIn(const Bytes& info) {
  Decoder in(info.view());
  if (!SeekInfo(kBreakpointKey, &in)) return "";
  uint16_t type = 0;
  std::string_view name;
  const bool read = in.GetUint16(&type) && type == PMIX_STRING &&
                    in.GetString(&name) && name.size() <= kMaxBreakpointName;
  return read ? std::optional<std::string>(name) : std::nullopt;
}

Bytes InfoOf(const std::string& nspace, const std::string& breakpoint) {
  Encoder out;
  out.PutSize(3);
  PutInfo(kNspaceKey, PMIX_STRING, &out);
  out.PutString(nspace);
  PutInfo(kBreakpointKey, PMIX_STRING, &out);
  out.PutString(breakpoint);
  PutFlag(kNonDefaultKey, &out);
  return Bytes(out.Take());
}

// Returns the ranks that must stop at this breakpoint.
const StopRanks& RanksAt(const Job& job, const std::string& breakpoint) {
  const JobDebug& debug = job.spec->debug;
  if (breakpoint == kAtExec) return debug.on_exec;
  return breakpoint == kInInit ? debug.in_init : debug.in_app;
}

// Returns the nodes of the ranks that must stop.
std::set<NodeId> NodesOf(const Job& job, const StopRanks& ranks) {
  std::set<NodeId> nodes;
  for (Rank rank = 0; rank < job.num_ranks(); ++rank) {
    if (Stops(ranks, rank)) nodes.insert(job.agent_of(rank));
  }
  return nodes;
}

// Returns the number of the event by which an agent reports that all ranks of
// its node wait. The number is derived from the processes' events, so a
// successor that receives these again reports the same event, not a new round.
uint64_t IdOfNode(const std::map<Rank, uint64_t>& waiting) {
  constexpr uint64_t kOfNode = uint64_t{1} << 60;
  uint64_t digest = 0;
  for (const auto& [rank, number] : waiting) {
    digest = DigestOf(DigestOf(digest, rank), number);
  }
  return kAgentsEvent | kOfNode | (digest & (kOfNode - 1));
}

// Returns the id of the event of one round of stops. It contains the number of
// the round, as the id of a warning contains the number of the time limit.
// Processes are stopped at their exec only once, so the event of that stop has
// a fixed number, also under a successor.
uint64_t IdOfRound(uint32_t round) {
  return IdOfJobEvent(kReadyForDebug, false) | uint64_t{round} << 33;
}

constexpr uint32_t kRounds = (1 << 24) - 1;
constexpr uint32_t kRoundAtExec = kRounds;

// Used as the number of the event of a process that is stopped at its exec,
// because it raises none.
constexpr uint64_t kNumberAtExec = UINT64_MAX;

EventRaised ReadyEvent(const Job& job, const std::string& breakpoint) {
  EventRaised event;
  event.status = kReadyForDebug;
  event.source = {job.nspace(), kRankWildcard};
  event.info = InfoOf(job.nspace(), breakpoint);
  return event;
}

// Returns true if the release reaches the process.
bool Reaches(const EventMessage& event, const ProcId& proc) {
  switch (static_cast<DataRange>(event.range)) {
    case DataRange::kRm:
    case DataRange::kProcLocal:
      return false;
    case DataRange::kNamespace:
      return event.source.nspace == proc.nspace;
    case DataRange::kCustom:
      return Names(event.targets, proc);
    default:
      return true;
  }
}

// Returns true if the range of the release is a list of processes or a
// namespace. Such a release also applies to processes that stop later; see
// MayBeKept in events.cc.
bool IsKept(const EventMessage& event) {
  const auto range = static_cast<DataRange>(event.range);
  return range == DataRange::kCustom || range == DataRange::kNamespace;
}

}  // namespace

void DebugStops::OnEvent(TimeNs now, const EventMessage& event) {
  if (event.status == kDebuggerRelease) return OnRelease(now, event);
  if (event.status != kReadyForDebug) return;
  const Job* job = jobs_.Find(event.source.nspace);
  const auto breakpoint = BreakpointIn(event.info);
  if (job == nullptr || !breakpoint || !RanksAt(*job, *breakpoint)) return;
  if (event.source.rank != kRankWildcard) {
    if (*breakpoint == kAtExec) return;
    if (job->is_local(event.source.rank) &&
        Stops(RanksAt(*job, *breakpoint), event.source.rank)) {
      local_.OnWaits(now, event.source);
    }
    OnProcess(*job, event, *breakpoint);
  } else if (event.range == static_cast<uint8_t>(DataRange::kCustom)) {
    OnNode(*job, event.origin, *breakpoint);
  }
}

DebugStops::Stop* DebugStops::StopAt(const Job& job,
                                     const std::string& breakpoint) {
  const Key key = {job.nspace(), breakpoint};
  const auto known = stops_.find(key);
  if (known != stops_.end()) return &known->second;
  const auto of_job = std::ranges::count(
      stops_, job.nspace(), [](const auto& stop) { return stop.first.first; });
  if (static_cast<size_t>(of_job) >= kMaxBreakpoints) return nullptr;
  return &stops_[key];
}

void DebugStops::OnProcess(const Job& job, const EventMessage& event,
                           const std::string& breakpoint) {
  if (!job.is_local(event.source.rank)) return;
  Stop* const stop = StopAt(job, breakpoint);
  if (stop == nullptr) return;
  stop->ranks[event.source.rank] = IdOf(event).number;
  const StopRanks& wanted = RanksAt(job, breakpoint);
  const bool all = std::ranges::all_of(job.local_ranks(), [&](Rank rank) {
    return !Stops(wanted, rank) || stop->ranks.contains(rank);
  });
  if (!all) return;
  TellController(job, breakpoint, stop->ranks);
  stop->ranks.clear();
}

// The only target is a rank that does not exist, so the event passes the agents
// on its way to the controller, and no process receives it.
void DebugStops::TellController(const Job& job, const std::string& breakpoint,
                                const std::map<Rank, uint64_t>& waiting) const {
  EventRaised here = ReadyEvent(job, breakpoint);
  here.id = IdOfNode(waiting);
  here.range = static_cast<uint8_t>(DataRange::kCustom);
  here.targets = {{job.nspace(), kRankInvalid}};
  Post(EventDue{std::move(here)});
}

void DebugStops::OnStarted(TimeNs now, const std::string& nspace) {
  local_.OnStarted(now, nspace);
  const Job* const job = jobs_.Find(nspace);
  if (job == nullptr) return;
  std::map<Rank, uint64_t> waiting;
  for (const Rank rank : job->local_ranks()) {
    if (Stops(job->spec->debug.on_exec, rank)) waiting[rank] = kNumberAtExec;
  }
  if (!waiting.empty()) TellController(*job, std::string(kAtExec), waiting);
}

void DebugStops::OnNode(const Job& job, NodeId node,
                        const std::string& breakpoint) {
  if (controller_of_(job.nspace()) != self_) return;
  Stop* const stop = StopAt(job, breakpoint);
  if (stop == nullptr) return;
  stop->nodes.insert(node);
  if (!std::ranges::includes(stop->nodes,
                             NodesOf(job, RanksAt(job, breakpoint)))) {
    return;
  }
  stops_.erase({job.nspace(), breakpoint});
  EventRaised ready = ReadyEvent(job, breakpoint);
  ready.range = static_cast<uint8_t>(DataRange::kSession);
  ready.id = IdOfRound(
      breakpoint == kAtExec ? kRoundAtExec : rounds_[job.nspace()]++ % kRounds);
  Post(EventDue{std::move(ready)});
}

void DebugStops::OnRelease(TimeNs now, const EventMessage& event) {
  for (const auto& [nspace, job] : jobs_.jobs()) {
    if (job.spec->debug.stops()) Release(now, job, event);
  }
}

void DebugStops::Release(TimeNs now, const Job& job,
                         const EventMessage& event) {
  SignalLocal go_on = {job.nspace(), kSignalContinue, {}};
  for (const Rank rank : job.local_ranks()) {
    if (!Reaches(event, {job.nspace(), rank})) continue;
    local_.OnReleased(now, {job.nspace(), rank}, IsKept(event));
    if (Stops(job.spec->debug.on_exec, rank)) go_on.ranks.push_back(rank);
  }
  if (!go_on.ranks.empty()) Post(StopReleased{std::move(go_on)});
}

void DebugStops::OnJobRecovered(const StepContext& step,
                                const JobRecovered& in) {
  for (const PersistedRecord& record : in.records) {
    local_.Recover(step.now, in.job->nspace, record);
  }
}

void DebugStops::OnJobRemoved(const StepContext& /*step*/,
                              const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  std::erase_if(stops_,
                [&](const auto& stop) { return stop.first.first == nspace; });
  rounds_.erase(nspace);
  local_.OnJobRemoved(nspace);
}

}  // namespace canopy::core
