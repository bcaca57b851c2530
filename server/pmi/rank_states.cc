#include "server/pmi/rank_states.h"

#include <utility>

namespace canopy::pmi {
namespace {

constexpr uint64_t kInitialized = 1;
constexpr uint64_t kFinalized = 2;
constexpr uint64_t kAnswering = 4;
constexpr uint64_t kPmi2 = 8;
constexpr uint64_t kThreaded = 16;
constexpr uint64_t kOddRing = 32;
constexpr unsigned kStatusShift = 8;
constexpr unsigned kCountShift = 24;

uint64_t Word(uint64_t count, int16_t status, bool answering) {
  return count << kCountShift |
         uint64_t{static_cast<uint16_t>(status)} << kStatusShift |
         (answering ? kAnswering : 0);
}

int16_t StatusIn(uint64_t word) {
  return static_cast<int16_t>(word >> kStatusShift);
}

}  // namespace

Result<std::unique_ptr<RankStates>> RankStates::Create(size_t ranks) {
  auto file = WordFile::Create("canopy-pmi", ranks);
  if (!file.ok()) return file.status();
  std::unique_ptr<RankStates> states(
      new RankStates(std::move(file).value(), ranks));
  if (Status status = states->CreateChanges(); !status.ok()) return status;
  return states;
}

Result<std::unique_ptr<RankStates>> RankStates::Open(UniqueFd fd,
                                                     size_t ranks) {
  auto file = WordFile::Open(std::move(fd), ranks);
  if (!file.ok()) return file.status();
  return std::unique_ptr<RankStates>(
      new RankStates(std::move(file).value(), ranks));
}

Status RankStates::CreateChanges() {
  auto file = WordFile::Create("canopy-pmi-changes", ranks_);
  if (!file.ok()) return file.status();
  changes_ = std::move(file).value();
  return Status();
}

Status RankStates::AdoptChanges(UniqueFd fd) {
  auto file = WordFile::Open(std::move(fd), ranks_);
  if (!file.ok()) return file.status();
  changes_ = std::move(file).value();
  return Status();
}

RankState RankStates::Get(size_t index) const {
  const uint64_t word = states_->Get(index);
  RankState state;
  state.initialized = (word & kInitialized) != 0;
  state.finalized = (word & kFinalized) != 0;
  state.answering = (word & kAnswering) != 0;
  state.pmi2 = (word & kPmi2) != 0;
  state.threaded = (word & kThreaded) != 0;
  state.odd_ring = (word & kOddRing) != 0;
  state.status = StatusIn(word);
  state.barriers = word >> kCountShift;
  return state;
}

void RankStates::Set(size_t index, const RankState& state) {
  uint64_t word = Word(state.barriers, state.status, state.answering);
  if (state.initialized) word |= kInitialized;
  if (state.finalized) word |= kFinalized;
  if (state.pmi2) word |= kPmi2;
  if (state.threaded) word |= kThreaded;
  if (state.odd_ring) word |= kOddRing;
  states_->Set(index, word);
}

ChangeState RankStates::GetChange(size_t index) const {
  if (changes_ == nullptr) return {};
  const uint64_t word = changes_->Get(index);
  return {(word & kAnswering) != 0, StatusIn(word), word >> kCountShift};
}

void RankStates::SetChange(size_t index, const ChangeState& state) {
  if (changes_ == nullptr) return;
  changes_->Set(index, Word(state.ended, state.status, state.answering));
}

}  // namespace canopy::pmi
