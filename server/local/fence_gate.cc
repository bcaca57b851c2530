#include "server/local/fence_gate.h"

#include <algorithm>
#include <utility>

namespace canopy::local {

bool IsWholeJob(const std::string& own_nspace,
                const std::vector<ProcId>& participants) {
  return std::ranges::all_of(participants, [&](const ProcId& proc) {
    return proc.rank == kRankWildcard &&
           (proc.nspace.empty() || proc.nspace == own_nspace);
  });
}

Result<std::unique_ptr<FenceGate>> FenceGate::Create(
    const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
    Defer defer, TakeCommits take_commits) {
  auto keeper =
      shm::GateKeeper::Create(static_cast<uint32_t>(ranks.size()), local_only);
  if (!keeper.ok()) return keeper.status();
  return std::unique_ptr<FenceGate>(
      new FenceGate(std::move(keeper).value(), ranks, local_only, sink,
                    std::move(defer), std::move(take_commits)));
}

FenceGate::FenceGate(std::unique_ptr<shm::GateKeeper> keeper,
                     const std::vector<Rank>& ranks, bool local_only,
                     InputSink* sink, Defer defer, TakeCommits take_commits)
    : keeper_(std::move(keeper)),
      local_only_(local_only),
      sink_(sink),
      defer_(std::move(defer)),
      take_commits_(std::move(take_commits)) {
  places_.reserve(ranks.size());
  for (const Rank rank : ranks) places_.push_back({rank});
}

FenceGate::~FenceGate() {
  if (keeper_->open() || num_waiting_ > 0) {
    keeper_->Close();
    keeper_->Release(kErrLostConnection);
    keeper_->Wake();
  }
}

FenceGate::Place* FenceGate::Find(Rank rank) {
  const auto it = std::ranges::lower_bound(places_, rank, {}, &Place::rank);
  return it == places_.end() || it->rank != rank ? nullptr : &*it;
}

int FenceGate::Admit(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != 0) return -1;
  place->holder = client;
  place->commits = 0;
  ++num_held_;
  const auto index = static_cast<uint32_t>(place - places_.data());
  keeper_->ResetCommits(index);
  MaybeOpen();
  return static_cast<int>(index);
}

void FenceGate::OnGone(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  keeper_->Wake();
  HandOver();
  --num_held_;
  // What was not read by now is lost.
  if (place->behind) CaughtUp(place);
  place->holder = 0;
  // The core answers nobody who has left.
  if (place->waiting && to_core_) Leave(place);
}

void FenceGate::OnResumed(Rank rank, core::ClientId client, uint64_t fences) {
  HandOver();
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  place->arrivals = std::max(place->arrivals, fences);
  MaybeOpen();
}

void FenceGate::OnMessage(Rank rank) {
  HandOver();
  Place* place = Find(rank);
  if (place != nullptr) ++place->arrivals;
  ++num_messages_;
}

void FenceGate::OnMessageDone(int status) {
  --num_messages_;
  failed_ |= status != kSuccess;
  MaybeOpen();
}

void FenceGate::OnCommit(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  ++place->commits;
  if (place->behind && !IsBehind(*place)) CaughtUp(place);
}

void FenceGate::OnFull() {
  if (keeper_->open() && keeper_->IsFull()) Take(!local_only_);
}

void FenceGate::HandOver() {
  if (keeper_->open()) Take(true);
}

void FenceGate::Take(bool to_core) {
  const shm::GateKeeper::Taken taken = keeper_->Close();
  failed_ |= taken.spoiled;
  to_core_ = to_core;
  collect_ = taken.collect;
  worst_ = kSuccess;
  answered_ = false;
  num_waiting_ = taken.ranks.size();
  if (taken.sync) {
    for (const uint32_t index : taken.ranks) take_commits_(places_[index].rank);
  }
  for (const uint32_t index : taken.ranks) {
    Place& place = places_[index];
    place.waiting = true;
    place.commits_due = keeper_->CommitsOf(index);
    place.behind = IsBehind(place);
    num_behind_ += place.behind ? 1 : 0;
    place.arrivals += to_core ? 1 : 0;
  }
  if (!to_core) {
    if (num_behind_ == 0) Release(kSuccess);
    return;
  }
  // The core may answer while it is told.
  for (const uint32_t index : taken.ranks) {
    if (!places_[index].behind) Tell(places_[index]);
  }
}

// The commits of somebody who is in have all been read.
void FenceGate::CaughtUp(Place* place) {
  place->behind = false;
  --num_behind_;
  if (to_core_) {
    Tell(*place);
  } else if (num_behind_ == 0) {
    Release(kSuccess);
  }
}

void FenceGate::Tell(const Place& place) {
  core::CollectiveArrived arrival;
  arrival.client = place.holder;
  arrival.request = kGateRequest;
  arrival.collect_data = collect_;
  sink_->OnInput(std::move(arrival));
}

void FenceGate::OnReply(Rank rank, int status) {
  Place* place = Find(rank);
  if (place == nullptr || !place->waiting || place->behind) return;
  answered_ = true;
  if (status != kSuccess) worst_ = status;
  Leave(place);
}

void FenceGate::Leave(Place* place) {
  place->waiting = false;
  if (--num_waiting_ > 0) return;
  Release(answered_ ? worst_ : kErrLostConnection);
}

void FenceGate::Release(int status) {
  for (Place& place : places_) place.waiting = false;
  num_waiting_ = 0;
  // A status stays in the gate: fences that succeed write none.
  failed_ |= status != kSuccess;
  keeper_->Release(status);
  MaybeOpen();
  defer_([keeper = keeper_] { keeper->Wake(); });
}

// Where the core has heard of more fences of one rank than of another, the
// next arrivals do not belong together.
void FenceGate::MaybeOpen() {
  if (failed_ || keeper_->open() || num_held_ < places_.size() ||
      num_waiting_ > 0 || num_messages_ > 0 ||
      !std::ranges::all_of(places_, [&](const Place& place) {
        return place.arrivals == places_.front().arrivals;
      })) {
    return;
  }
  if (!keeper_->Open()) failed_ = true;
}

void FenceGate::Watch() {
  if (keeper_->IsStuck()) HandOver();
}

}  // namespace canopy::local
