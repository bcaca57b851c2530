// How local participants come to a collective, and what waits for a job map.
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

// Directives that every collective heeds: the adapters read them for us.
// All job data is everywhere anyway, as every agent derives it from one map.
constexpr std::array<std::string_view, 4> kHeeded = {
    "pmix.collect", "pmix.timeout", "pmix.collect.gen", "pmix.loc.col.st"};

constexpr uint32_t kRequired = 1;  // PMIX_INFO_REQD

// Refuses what must be heeded and is not: SIZE n, then n INFO.
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
  Turn turn{now, *actions};
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return Reply(turn, in.client, in.request, kErrInit);
  if (!IsSupported(in.op)) {
    return Reply(turn, in.client, in.request, kErrNotSupported);
  }
  if (const int status = CheckDirectives(in.info); status != kSuccess) {
    return Reply(turn, in.client, in.request, status);
  }
  CollectiveId id{in.op, in.participants, 0};
  if (!Canonicalise(proc->nspace, &id.participants).ok()) {
    return Reply(turn, in.client, in.request, kErrBadParam);
  }
  if (sets_.size() >= kMaxSets && !sets_.contains(id)) {
    return Reply(turn, in.client, in.request, kErrOutOfResource);
  }
  Set& set = FindOrAddSet(id);
  const TimeNs deadline = DeadlineOf(now, in.timeout_ms);
  if (!Resolve(turn, set)) {
    return Stash(turn, set, StashEntry{in, deadline});
  }
  Arrive(turn, set, in, deadline);
}

// True when the caller has got an error instead of joining.
bool Collectives::Refused(Turn& turn, Set& set, const CollectiveArrived& in,
                          int index) {
  int status = kSuccess;
  if (index < 0) {
    status = kErrBadParam;
  } else if (set.id.op == CollectiveOp::kDisconnect &&
             // To one that is over it comes again.
             set.arrivals[index] >= set.next &&
             !connected_.contains(set.id.participants)) {
    status = kErrInvalidOperation;
  } else if (set.arrivals[index] >= set.next + kMaxPipelined) {
    status = kErrResourceBusy;
  } else if (set.arrivals[index] > 0) {
    // Fences of one process may follow each other without waiting; a second
    // process of the same rank, or a second connect, comes twice to one.
    const auto last = set.active.find(set.arrivals[index] - 1);
    if (last != set.active.end()) {
      const auto& waiters = last->second.waiters;
      const ProcId& proc = set.members->local[index];
      const auto it =
          std::find_if(waiters.begin(), waiters.end(),
                       [&](const Waiter& w) { return w.proc == proc; });
      if (it != waiters.end() &&
          (it->client != in.client || set.id.op != CollectiveOp::kFence)) {
        status = kErrInvalidOperation;
      }
    }
  }
  if (status != kSuccess) Reply(turn, in.client, in.request, status);
  return status != kSuccess;
}

void Collectives::Arrive(Turn& turn, Set& set, const CollectiveArrived& in,
                         TimeNs deadline) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (proc == nullptr) return;  // left while the map was fetched
  const int index = set.members->LocalIndex(*proc);
  if (index >= 0 && !set.counted[index]) {
    // One that is new here begins with what is not over.
    set.counted[index] = true;
    set.arrivals[index] = std::max(set.arrivals[index], set.restored);
  }
  if (Refused(turn, set, in, index)) return;
  const uint64_t sequence = set.arrivals[index]++;
  if (IsOver(set, sequence)) {
    const auto over = set.over.find(sequence);
    int status = sequence < set.restored ? kSuccess : kErrProcAborted;
    if (over != set.over.end()) status = over->second.status;
    Reply(turn, in.client, in.request, status);
    return Forget(set);
  }
  const bool is_new = !set.active.contains(sequence);
  Instance& instance = FindOrAddInstance(turn, set, sequence);
  instance.arrived[index] = true;
  ++instance.num_arrived;
  instance.collect |= in.collect_data;
  instance.waiters.push_back({in.client, in.request, *proc});
  if (deadline != kNever) {
    AddDeadline(set, sequence, deadline, &instance.deadlines);
  }
  if (is_new && EndIfGone(turn, set, sequence)) return;
  Progress(turn, set, sequence);
}

// Makes the members known if the maps are here; asks for those that are not.
bool Collectives::Resolve(Turn& turn, Set& set) {
  if (set.members) return true;
  std::vector<std::string> unknown = UnknownNspaces(set.id.participants, jobs_);
  if (!unknown.empty()) {
    for (std::string& nspace : unknown) wanted_.push_back(std::move(nspace));
    return false;
  }
  Result<CollectiveMembers> members =
      FindMembers(set.id.participants, jobs_, self_);
  if (!members.ok()) {
    // Nobody is a member of a set that can not be.
    members = CollectiveMembers();
    turn.out.push_back(LogLine{LogLine::Level::kWarning,
                               std::string(NameOf(set.id.op)) + " of " +
                                   ToString(set.id.participants.front()) +
                                   " and others names no such process"});
  }
  set.members = std::move(*members);
  set.arrivals.resize(set.members->local.size());
  set.counted.resize(set.members->local.size());
  ApplyResumed(set);
  return true;
}

void Collectives::Stash(Turn& turn, Set& set, StashEntry entry) {
  const auto* arrival = std::get_if<CollectiveArrived>(&entry.what);
  if (arrival == nullptr && num_stashed_ >= kMaxStashed) {
    turn.out.push_back(LogLine{
        LogLine::Level::kError,
        "too many collectives of jobs that are not known here; one dropped"});
    return;
  }
  if (entry.deadline != kNever) {
    std::vector<DeadlineKey> unused;
    AddDeadline(set, kStashSequence, entry.deadline, &unused);
  }
  ++num_stashed_;
  set.stash.push_back(std::move(entry));
}

void Collectives::Unstash(Turn& turn, Set& set) {
  std::vector<StashEntry> stash = std::exchange(set.stash, {});
  num_stashed_ -= stash.size();
  for (StashEntry& entry : stash) {
    if (const auto* in = std::get_if<CollectiveArrived>(&entry.what)) {
      Arrive(turn, set, *in, entry.deadline);
    } else if (const auto* up =
                   std::get_if<std::pair<NodeId, CollectiveUp>>(&entry.what)) {
      ApplyUp(turn, set, up->first, up->second);
    } else {
      const auto& down =
          std::get<std::pair<NodeId, CollectiveDown>>(entry.what);
      ApplyDown(turn, set, down.first, down.second);
    }
  }
}

void Collectives::FailStash(Turn& turn, Set& set, int status) {
  std::vector<StashEntry> stash = std::exchange(set.stash, {});
  num_stashed_ -= stash.size();
  for (const StashEntry& entry : stash) {
    if (const auto* in = std::get_if<CollectiveArrived>(&entry.what)) {
      Reply(turn, in->client, in->request, status);
    }
  }
}

void Collectives::ExpireStash(Turn& turn, Set& set) {
  num_stashed_ -= std::erase_if(set.stash, [&](const StashEntry& entry) {
    if (entry.deadline > turn.now) return false;
    const auto& in = std::get<CollectiveArrived>(entry.what);
    Reply(turn, in.client, in.request, kErrTimeout);
    return true;
  });
}

void Collectives::OnJobAdded(TimeNs now, const std::string& nspace,
                             Actions* actions) {
  Turn turn{now, *actions};
  for (auto& [id, set] : sets_) {
    const bool names =
        std::any_of(id.participants.begin(), id.participants.end(),
                    [&](const ProcId& proc) { return proc.nspace == nspace; });
    if (!names || set.members || !Resolve(turn, set)) continue;
    Unstash(turn, set);
  }
}

void Collectives::OnJobUnknown(TimeNs now, const std::string& nspace,
                               Actions* actions) {
  Turn turn{now, *actions};
  for (auto it = sets_.begin(); it != sets_.end();) {
    Set& set = it->second;
    const auto& procs = set.id.participants;
    const bool names =
        std::any_of(procs.begin(), procs.end(),
                    [&](const ProcId& p) { return p.nspace == nspace; });
    if (names && !set.members) {
      FailStash(turn, set, kErrNotFound);
      std::erase_if(deadlines_,
                    [&](const auto& d) { return d.second.first == &set; });
      it = sets_.erase(it);
    } else {
      ++it;
    }
  }
}

void Collectives::OnJobRemoved(const std::string& nspace, Actions* actions) {
  Turn turn{0, *actions};
  recovered_.erase(nspace);
  for (auto it = sets_.begin(); it != sets_.end();) {
    Set& set = it->second;
    const auto& procs = set.id.participants;
    if (std::none_of(procs.begin(), procs.end(),
                     [&](const ProcId& p) { return p.nspace == nspace; })) {
      ++it;
      continue;
    }
    FailStash(turn, set, kErrJobTerminated);
    for (auto& [sequence, instance] : set.active) {
      for (const Waiter& w : instance.waiters) {
        Reply(turn, w.client, w.request, kErrJobTerminated);
      }
    }
    std::erase_if(deadlines_,
                  [&](const auto& d) { return d.second.first == &set; });
    it = sets_.erase(it);
  }
  std::erase_if(connected_, [&](const std::vector<ProcId>& procs) {
    return std::any_of(procs.begin(), procs.end(),
                       [&](const ProcId& p) { return p.nspace == nspace; });
  });
}

void Collectives::OnClientGone(ClientId client) {
  for (auto& [id, set] : sets_) {
    for (auto& [sequence, instance] : set.active) {
      std::erase_if(instance.waiters,
                    [&](const Waiter& w) { return w.client == client; });
    }
    num_stashed_ -= std::erase_if(set.stash, [&](const StashEntry& entry) {
      const auto* in = std::get_if<CollectiveArrived>(&entry.what);
      return in != nullptr && in->client == client;
    });
  }
}

std::vector<std::string> Collectives::TakeWanted() {
  return std::exchange(wanted_, {});
}

}  // namespace canopy::core
