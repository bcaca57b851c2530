// Arrival of local participants, and messages that wait for a job map.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/status.h"
#include "server/core/collective.h"

namespace canopy::core {
namespace {

constexpr TimeNs kNsPerMs = 1'000'000;

bool IsSupported(CollectiveOp op) {
  return op == CollectiveOp::kFence || op == CollectiveOp::kConnect ||
         op == CollectiveOp::kDisconnect;
}

// Directives that every collective honours, parsed by the adapters. Job data
// needs no collection, as every agent derives it from one map.
constexpr std::array<std::string_view, 4> kHeeded = {
    "pmix.collect", "pmix.timeout", "pmix.collect.gen", "pmix.loc.col.st"};

constexpr uint32_t kRequired = 1;  // PMIX_INFO_REQD

// Refuses required directives that are not honoured: SIZE n, then n INFO.
int CheckDirectives(const Bytes& info) {
  if (info.empty()) return kSuccess;
  Decoder decoder(info.view());
  size_t count = 0;
  if (!decoder.GetSize(&count)) return kErrBadParam;
  for (size_t i = 0; i < count; ++i) {
    std::string_view key;
    uint32_t flags = 0;
    if (!decoder.GetString(&key) || !decoder.GetUint32(&flags) ||
        !decoder.SkipValue()) {
      return kErrBadParam;
    }
    const bool heeded = std::ranges::find(kHeeded, key) != kHeeded.end();
    if (!heeded && (flags & kRequired) != 0) return kErrNotSupported;
  }
  return kSuccess;
}

TimeNs DeadlineOf(TimeNs now, uint32_t timeout_ms) {
  return timeout_ms == 0 ? kNever : now + timeout_ms * kNsPerMs;
}

}  // namespace

void Collectives::OnArrived(TimeNs now, const CollectiveArrived& in,
                            Actions* actions) {
  StepContext step{now, *actions};
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return Reply(step, in.client, in.request, kErrInit);
  if (!IsSupported(in.op)) {
    return Reply(step, in.client, in.request, kErrNotSupported);
  }
  if (const int status = CheckDirectives(in.info); status != kSuccess) {
    return Reply(step, in.client, in.request, status);
  }
  CollectiveId id{in.op, in.participants, 0};
  if (!Canonicalise(proc->nspace, &id.participants).ok()) {
    return Reply(step, in.client, in.request, kErrBadParam);
  }
  if (series_.size() >= kMaxSeries && !series_.contains(id)) {
    return Reply(step, in.client, in.request, kErrOutOfResource);
  }
  Series& series = FindOrAddSeries(id);
  const TimeNs deadline = DeadlineOf(now, in.timeout_ms);
  if (!Resolve(step, series)) {
    return Stash(step, series, StashEntry{in, deadline});
  }
  Arrive(step, series, in, deadline);
}

// True when the caller got an error instead of arriving.
bool Collectives::Refused(StepContext& step, Series& series,
                          const CollectiveArrived& in, int index) {
  int status = kSuccess;
  if (index < 0) {
    status = kErrBadParam;
  } else if (series.id.op == CollectiveOp::kDisconnect &&
             // An arrival at a completed one is a repetition.
             series.arrivals[index] >= series.next &&
             !connected_.contains(series.id.participants)) {
    status = kErrInvalidOperation;
  } else if (series.arrivals[index] >= series.next + kMaxPipelined) {
    status = kErrResourceBusy;
  } else if (series.arrivals[index] > 0) {
    // Fences of one process may follow each other without waiting; a second
    // process of the same rank, or a second connect, arrives twice at one.
    const auto last = series.active.find(series.arrivals[index] - 1);
    if (last != series.active.end()) {
      const auto& waiters = last->second.waiters;
      const ProcId& proc = series.members->local[index];
      const auto it =
          std::find_if(waiters.begin(), waiters.end(),
                       [&](const Waiter& w) { return w.proc == proc; });
      if (it != waiters.end() &&
          (it->client != in.client || series.id.op != CollectiveOp::kFence)) {
        status = kErrInvalidOperation;
      }
    }
  }
  if (status != kSuccess) Reply(step, in.client, in.request, status);
  return status != kSuccess;
}

void Collectives::Arrive(StepContext& step, Series& series,
                         const CollectiveArrived& in, TimeNs deadline) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;  // disconnected while the map was fetched
  const int index = series.members->LocalIndex(*proc);
  if (index >= 0 && !series.arrivals_known[index]) {
    // A rank without a reported count starts after the recovered collectives.
    series.arrivals_known[index] = true;
    series.arrivals[index] = std::max(series.arrivals[index], series.recovered);
  }
  if (Refused(step, series, in, index)) return;
  const uint64_t sequence = series.arrivals[index]++;
  if (IsOver(series, sequence)) {
    const auto completed = series.completed.find(sequence);
    int status = sequence < series.recovered ? kSuccess : kErrProcAborted;
    if (completed != series.completed.end()) status = completed->second.status;
    Reply(step, in.client, in.request, status);
    return PruneCompleted(series);
  }
  const bool is_new = !series.active.contains(sequence);
  Instance& instance = FindOrAddInstance(step, series, sequence);
  instance.arrived[index] = true;
  ++instance.num_arrived;
  instance.collect |= in.collect_data;
  instance.waiters.push_back({in.client, in.request, *proc});
  if (deadline != kNever) {
    AddDeadline(series, sequence, deadline, &instance.deadlines);
  }
  if (is_new && EndIfGone(step, series, sequence)) return;
  Progress(step, series, sequence);
}

// Resolves the members when all maps are present; requests the missing ones.
bool Collectives::Resolve(StepContext& step, Series& series) {
  if (series.members) return true;
  std::vector<std::string> unknown =
      UnknownNspaces(series.id.participants, jobs_);
  if (!unknown.empty()) {
    for (std::string& nspace : unknown) wanted_.push_back(std::move(nspace));
    return false;
  }
  Result<CollectiveMembers> members =
      FindMembers(series.id.participants, jobs_, self_);
  if (!members.ok()) {
    // Invalid participants: the series has no members.
    members = CollectiveMembers();
    step.out.push_back(LogLine{LogLine::Level::kWarning,
                               std::string(NameOf(series.id.op)) + " of " +
                                   ToString(series.id.participants.front()) +
                                   " and others names no such process"});
  }
  series.members = std::move(*members);
  series.arrivals.resize(series.members->local.size());
  series.arrivals_known.resize(series.members->local.size());
  ApplyReattached(series);
  return true;
}

void Collectives::Stash(StepContext& step, Series& series, StashEntry entry) {
  const auto* arrival = std::get_if<CollectiveArrived>(&entry.what);
  if (arrival == nullptr && num_stashed_ >= kMaxStashed) {
    step.out.push_back(LogLine{
        LogLine::Level::kError,
        "too many collectives of jobs that are not known here; one dropped"});
    return;
  }
  if (entry.deadline != kNever) {
    std::vector<DeadlineKey> unused;
    AddDeadline(series, kStashSequence, entry.deadline, &unused);
  }
  ++num_stashed_;
  series.stash.push_back(std::move(entry));
}

void Collectives::Unstash(StepContext& step, Series& series) {
  std::vector<StashEntry> stash = std::exchange(series.stash, {});
  num_stashed_ -= stash.size();
  for (StashEntry& entry : stash) {
    if (const auto* in = std::get_if<CollectiveArrived>(&entry.what)) {
      Arrive(step, series, *in, entry.deadline);
    } else if (const auto* up =
                   std::get_if<std::pair<NodeId, CollectiveUp>>(&entry.what)) {
      ApplyUp(step, series, up->first, up->second);
    } else {
      const auto& down =
          std::get<std::pair<NodeId, CollectiveDown>>(entry.what);
      ApplyDown(step, series, down.first, down.second);
    }
  }
}

void Collectives::FailStash(StepContext& step, Series& series, int status) {
  std::vector<StashEntry> stash = std::exchange(series.stash, {});
  num_stashed_ -= stash.size();
  for (const StashEntry& entry : stash) {
    if (const auto* in = std::get_if<CollectiveArrived>(&entry.what)) {
      Reply(step, in->client, in->request, status);
    }
  }
}

void Collectives::ExpireStash(StepContext& step, Series& series) {
  num_stashed_ -= std::erase_if(series.stash, [&](const StashEntry& entry) {
    if (entry.deadline > step.now) return false;
    const auto& in = std::get<CollectiveArrived>(entry.what);
    Reply(step, in.client, in.request, kErrTimeout);
    return true;
  });
}

void Collectives::OnJobAdded(TimeNs now, const std::string& nspace,
                             Actions* actions) {
  StepContext step{now, *actions};
  for (auto& [id, series] : series_) {
    const bool names =
        std::any_of(id.participants.begin(), id.participants.end(),
                    [&](const ProcId& proc) { return proc.nspace == nspace; });
    if (!names || series.members || !Resolve(step, series)) continue;
    Unstash(step, series);
  }
}

void Collectives::OnJobUnknown(TimeNs now, const std::string& nspace,
                               Actions* actions) {
  StepContext step{now, *actions};
  for (auto it = series_.begin(); it != series_.end();) {
    Series& series = it->second;
    const auto& procs = series.id.participants;
    const bool names =
        std::any_of(procs.begin(), procs.end(),
                    [&](const ProcId& p) { return p.nspace == nspace; });
    if (names && !series.members) {
      FailStash(step, series, kErrNotFound);
      std::erase_if(deadlines_,
                    [&](const auto& d) { return d.second.first == &series; });
      it = series_.erase(it);
    } else {
      ++it;
    }
  }
}

void Collectives::OnJobRemoved(const std::string& nspace, Actions* actions) {
  StepContext step{0, *actions};
  recovered_.erase(nspace);
  for (auto it = series_.begin(); it != series_.end();) {
    Series& series = it->second;
    const auto& procs = series.id.participants;
    if (std::none_of(procs.begin(), procs.end(),
                     [&](const ProcId& p) { return p.nspace == nspace; })) {
      ++it;
      continue;
    }
    FailStash(step, series, kErrJobTerminated);
    for (auto& [sequence, instance] : series.active) {
      for (const Waiter& w : instance.waiters) {
        Reply(step, w.client, w.request, kErrJobTerminated);
      }
    }
    std::erase_if(deadlines_,
                  [&](const auto& d) { return d.second.first == &series; });
    it = series_.erase(it);
  }
  std::erase_if(connected_, [&](const std::vector<ProcId>& procs) {
    return std::any_of(procs.begin(), procs.end(),
                       [&](const ProcId& p) { return p.nspace == nspace; });
  });
}

void Collectives::OnClientGone(ClientId client) {
  for (auto& [id, series] : series_) {
    for (auto& [sequence, instance] : series.active) {
      std::erase_if(instance.waiters,
                    [&](const Waiter& w) { return w.client == client; });
    }
    num_stashed_ -= std::erase_if(series.stash, [&](const StashEntry& entry) {
      const auto* in = std::get_if<CollectiveArrived>(&entry.what);
      return in != nullptr && in->client == client;
    });
  }
}

std::vector<std::string> Collectives::TakeWanted() {
  return std::exchange(wanted_, {});
}

}  // namespace canopy::core
