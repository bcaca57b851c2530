#include "server/local/fence_gate.h"

#include <algorithm>

namespace canopy::local {

bool IsWholeJob(const std::string& own_nspace,
                const std::vector<ProcId>& participants) {
  return std::ranges::all_of(participants, [&](const ProcId& proc) {
    return proc.rank == kRankWildcard &&
           (proc.nspace.empty() || proc.nspace == own_nspace);
  });
}

Result<std::unique_ptr<FenceGate>> FenceGate::Create(std::vector<Rank> ranks,
                                                     bool local_only,
                                                     InputSink* sink) {
  auto keeper =
      shm::GateKeeper::Create(static_cast<uint32_t>(ranks.size()), local_only);
  if (!keeper.ok()) return keeper.status();
  return std::unique_ptr<FenceGate>(new FenceGate(
      std::move(keeper).value(), std::move(ranks), local_only, sink));
}

FenceGate::FenceGate(std::unique_ptr<shm::GateKeeper> keeper,
                     std::vector<Rank> ranks, bool local_only, InputSink* sink)
    : keeper_(std::move(keeper)), local_only_(local_only), sink_(sink) {
  places_.reserve(ranks.size());
  for (const Rank rank : ranks) places_.push_back({rank});
}

FenceGate::~FenceGate() {
  if (keeper_->open() || num_waiting_ > 0) {
    keeper_->Close();
    keeper_->Release(kErrLostConnection);
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
  ++num_held_;
  const auto index = static_cast<uint32_t>(place - places_.data());
  keeper_->ResetCommits(index);
  MaybeOpen();
  return static_cast<int>(index);
}

void FenceGate::OnGone(Rank rank, core::ClientId client) {
  Place* place = Find(rank);
  if (place == nullptr || place->holder != client) return;
  HandOver();
  place->holder = 0;
  --num_held_;
  // The core answers nobody who has left.
  if (place->waiting) Answered(place, kSuccess);
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

std::vector<std::pair<core::ClientId, uint32_t>> FenceGate::CommitsSent()
    const {
  std::vector<std::pair<core::ClientId, uint32_t>> sent;
  if (!keeper_->open()) return sent;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    sent.emplace_back(places_[i].holder, keeper_->CommitsOf(i));
  }
  return sent;
}

void FenceGate::OnFull() {
  if (!keeper_->open() || !keeper_->IsFull()) return;
  if (!local_only_) return HandOver();
  keeper_->Close();
  keeper_->Release(kSuccess);
  keeper_->Open();
}

void FenceGate::HandOver() {
  if (!keeper_->open()) return;
  const shm::GateKeeper::Taken taken = keeper_->Close();
  worst_ = kSuccess;
  num_waiting_ = taken.ranks.size();
  for (const uint32_t index : taken.ranks) {
    places_[index].waiting = true;
    ++places_[index].arrivals;
  }
  // The core may answer while it is told.
  for (const uint32_t index : taken.ranks) {
    core::CollectiveArrived arrival;
    arrival.client = places_[index].holder;
    arrival.request = kGateRequest;
    arrival.collect_data = taken.collect;
    sink_->OnInput(std::move(arrival));
  }
}

void FenceGate::OnReply(Rank rank, int status) {
  Place* place = Find(rank);
  if (place != nullptr && place->waiting) Answered(place, status);
}

void FenceGate::Answered(Place* place, int status) {
  place->waiting = false;
  if (status != kSuccess) {
    worst_ = status;
    failed_ = true;
  }
  if (--num_waiting_ > 0) return;
  keeper_->Release(worst_);
  MaybeOpen();
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
  keeper_->Open();
}

void FenceGate::Watch() {
  if (keeper_->IsStuck()) HandOver();
}

}  // namespace canopy::local
