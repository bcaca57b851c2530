#include "server/local/fence_barrier.h"

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

Result<std::unique_ptr<FenceBarrier>> FenceBarrier::Create(
    const std::vector<Rank>& ranks, bool local_only, InputSink* sink,
    Defer defer, TakeCommits take_commits) {
  auto server = shm::BarrierServer::Create(static_cast<uint32_t>(ranks.size()),
                                           local_only);
  if (!server.ok()) return server.status();
  return std::unique_ptr<FenceBarrier>(
      new FenceBarrier(std::move(server).value(), ranks, local_only, sink,
                       std::move(defer), std::move(take_commits)));
}

FenceBarrier::FenceBarrier(std::unique_ptr<shm::BarrierServer> server,
                           const std::vector<Rank>& ranks, bool local_only,
                           InputSink* sink, Defer defer,
                           TakeCommits take_commits)
    : server_(std::move(server)),
      local_only_(local_only),
      sink_(sink),
      defer_(std::move(defer)),
      take_commits_(std::move(take_commits)) {
  places_.reserve(ranks.size());
  for (const Rank rank : ranks) places_.push_back({rank});
}

FenceBarrier::~FenceBarrier() {
  *self_ = nullptr;
  if (server_->open() || num_waiting_ > 0) {
    server_->Close();
    server_->Release(kErrLostConnection);
    server_->Wake();
  }
}

FenceBarrier::Place* FenceBarrier::Find(Rank rank) {
  const auto it = std::ranges::lower_bound(places_, rank, {}, &Place::rank);
  return it == places_.end() || it->rank != rank ? nullptr : &*it;
}

int FenceBarrier::Admit(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != 0) return -1;
  place->holder = client;
  place->commits = 0;
  ++num_held_;
  const auto index = static_cast<uint32_t>(place - places_.data());
  server_->ResetCommits(index);
  MaybeOpen();
  return static_cast<int>(index);
}

void FenceBarrier::OnGone(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  server_->Wake();
  PassToCore();
  --num_held_;
  // Commits that have not been read by now are lost.
  if (place->behind) CaughtUp(place);
  place->holder = 0;
  // The core does not reply to a client that is gone.
  if (place->waiting && to_core_) Leave(place);
}

void FenceBarrier::OnReattached(Rank rank, core::ClientId client,
                                uint64_t fences) {
  PassToCore();
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  place->arrivals = std::max(place->arrivals, fences);
  MaybeOpen();
}

void FenceBarrier::OnMessage(Rank rank) {
  PassToCore();
  Place* place = Find(rank);
  if (place != nullptr) ++place->arrivals;
  ++num_messages_;
}

void FenceBarrier::OnMessageDone(int status) {
  --num_messages_;
  failed_ |= status != kSuccess;
  MaybeOpen();
}

void FenceBarrier::OnCommit(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  ++place->commits;
  if (place->behind && !IsBehind(*place)) CaughtUp(place);
}

void FenceBarrier::OnFull() {
  if (server_->open() && server_->IsFull()) Take(!local_only_);
}

void FenceBarrier::PassToCore() {
  if (server_->open()) Take(true);
}

void FenceBarrier::Take(bool to_core) {
  const shm::BarrierServer::Taken taken = server_->Close();
  failed_ |= taken.corrupted;
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
    place.commits_due = server_->CommitsOf(index);
    place.behind = IsBehind(place);
    num_behind_ += place.behind ? 1 : 0;
    place.arrivals += to_core ? 1 : 0;
  }
  if (!to_core) {
    if (num_behind_ == 0) ReleaseLater();
    return;
  }
  std::vector<core::ClientId> arrived;
  for (const uint32_t index : taken.ranks) {
    if (!places_[index].behind) arrived.push_back(places_[index].holder);
  }
  if (!arrived.empty()) SendArrivals(std::move(arrived));
}

// Called when all commits of an arrived rank have been read.
void FenceBarrier::CaughtUp(Place* place) {
  place->behind = false;
  --num_behind_;
  if (to_core_) {
    SendArrivals({place->holder});
  } else if (num_behind_ == 0) {
    ReleaseLater();
  }
}

void FenceBarrier::SendArrivals(std::vector<core::ClientId> clients) {
  sink_->OnInput(core::LocalFenceArrived{std::move(clients), collect_});
}

void FenceBarrier::OnReleased(Rank rank, int status) {
  Place* place = Find(rank);
  if (place == nullptr || !place->waiting || place->behind) return;
  answered_ = true;
  if (status != kSuccess) worst_ = status;
  Leave(place);
}

void FenceBarrier::Leave(Place* place) {
  place->waiting = false;
  if (--num_waiting_ > 0) return;
  Release(answered_ ? worst_ : kErrLostConnection);
}

// Releases the participants at the end of the round. By then, the inputs of
// this round have published the participants' commits, so that no participant
// reads older data after the fence.
void FenceBarrier::ReleaseLater() {
  defer_([self = self_] {
    if (*self != nullptr) (*self)->Release(kSuccess);
  });
}

void FenceBarrier::Release(int status) {
  for (Place& place : places_) place.waiting = false;
  num_waiting_ = 0;
  // A failure status stays in the barrier, because successful fences do not
  // write the status.
  failed_ |= status != kSuccess;
  server_->Release(status);
  MaybeOpen();
  defer_([server = server_] { server->Wake(); });
}

// Opens the barrier if that is possible. If the core has counted more fences of
// one rank than of another, the next arrivals belong to different fences, so
// the barrier stays closed.
void FenceBarrier::MaybeOpen() {
  if (failed_ || server_->open() || num_held_ < places_.size() ||
      num_waiting_ > 0 || num_messages_ > 0 ||
      !std::ranges::all_of(places_, [&](const Place& place) {
        return place.arrivals == places_.front().arrivals;
      })) {
    return;
  }
  if (!server_->Open()) failed_ = true;
}

void FenceBarrier::Watch() {
  if (server_->IsStuck()) PassToCore();
}

}  // namespace canopy::local
