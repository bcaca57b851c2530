#include "common/shm/gate_keeper.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <new>
#include <utility>

#include "common/shm/memory_file.h"

namespace canopy::shm {
namespace {

constexpr int kMaxTries = 1000;

}  // namespace

Result<std::unique_ptr<GateKeeper>> GateKeeper::Create(uint32_t num_ranks,
                                                       bool local_only) {
  if (num_ranks == 0 || num_ranks > kMaxGateRanks) {
    return Status(kErrBadParam, "a gate of so many ranks");
  }
  const uint64_t size = GateSize(num_ranks);
  UniqueFd fd = CreateMemoryFile("canopy-gate");
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
          0) {
    return Status(kErrOutOfResource, "memory for a gate");
  }
  void* base =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return Status(kErrOutOfResource, "map of a gate");
  auto* header = new (base) GateHeader;
  header->magic = kGateMagic;
  header->version = kGateVersion;
  header->num_ranks = num_ranks;
  header->local_only = local_only ? 1 : 0;
  header->state.store(GateState(0, true), std::memory_order_release);
  return std::unique_ptr<GateKeeper>(
      new GateKeeper(std::move(fd), base, size, num_ranks));
}

GateKeeper::GateKeeper(UniqueFd fd, void* base, uint64_t size,
                       uint32_t num_ranks)
    : fd_(std::move(fd)), base_(base), size_(size), gate_(base, num_ranks) {}

GateKeeper::~GateKeeper() { munmap(base_, size_); }

uint32_t GateKeeper::generation() const {
  return GateGeneration(gate_.header().state.load(std::memory_order_acquire));
}

bool GateKeeper::Open() {
  if (open_) return true;
  for (uint32_t w = 0; w < gate_.num_words(); ++w) {
    const uint64_t nobody = (closed_at_ & 1) == 0 ? 0 : gate_.Mask(w);
    gate_.word(w).store(nobody, std::memory_order_relaxed);
  }
  auto& state = gate_.header().state;
  uint64_t seen = state.load(std::memory_order_relaxed);
  const uint64_t closed = GateState(closed_at_, true);
  // A member that writes without end must not hold the agent up.
  for (int i = 0; i < kMaxTries; ++i) {
    if (static_cast<uint32_t>(seen) != closed) return false;
    // Who is about to arrive may have said already what it wants.
    const uint64_t next = GateState(closed_at_, false) | (seen & kGateWants);
    open_ = state.compare_exchange_weak(seen, next, std::memory_order_acq_rel);
    if (open_) return true;
  }
  return false;
}

GateKeeper::Taken GateKeeper::Close() {
  Taken taken;
  if (!open_) return taken;
  open_ = false;
  was_waiting_ = false;
  // From here on no member completes a fence, so that the generation stays.
  const uint64_t seen =
      gate_.header().state.fetch_or(1, std::memory_order_acq_rel);
  closed_at_ = GateGeneration(seen);
  if (IsGateClosed(seen)) {
    taken.spoiled = true;
    return taken;
  }
  for (uint32_t w = 0; w < gate_.num_words(); ++w) {
    const uint64_t content =
        gate_.word(w).fetch_or(kGateClosedWord, std::memory_order_acq_rel);
    uint64_t bits = gate_.Arrived(w, content, closed_at_);
    for (; bits != 0; bits &= bits - 1) {
      taken.ranks.push_back(w * kGateRanksPerWord +
                            static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
  // Whoever is in the words has said before what it wants, perhaps only after
  // the state was closed.
  const uint64_t wants =
      gate_.header().state.load(std::memory_order_acquire) & kGateWants;
  taken.collect = (wants & kGateCollect) != 0;
  taken.sync = (wants & kGateSync) != 0;
  return taken;
}

void GateKeeper::Release(int status) {
  gate_.header().status[closed_at_ & 1].store(status,
                                              std::memory_order_relaxed);
  ++closed_at_;
  gate_.header().state.store(GateState(closed_at_, true),
                             std::memory_order_release);
}

uint64_t GateKeeper::ArrivedIn(uint32_t word, uint32_t generation) const {
  return gate_.Arrived(word, gate_.word(word).load(std::memory_order_acquire),
                       generation);
}

bool GateKeeper::IsFull() const {
  const uint32_t now = generation();
  for (uint32_t w = 0; w < gate_.num_words(); ++w) {
    if (ArrivedIn(w, now) != gate_.Mask(w)) return false;
  }
  return true;
}

bool GateKeeper::IsStuck() {
  if (!open_) return false;
  const uint32_t now = generation();
  bool waiting = false;
  for (uint32_t w = 0; w < gate_.num_words(); ++w) {
    waiting |= ArrivedIn(w, now) != 0;
  }
  const bool stuck = waiting && was_waiting_ && now == watched_at_;
  watched_at_ = now;
  was_waiting_ = waiting;
  return stuck;
}

uint32_t GateKeeper::CommitsOf(uint32_t index) const {
  return gate_.commits(index).load(std::memory_order_relaxed);
}

void GateKeeper::ResetCommits(uint32_t index) {
  gate_.commits(index).store(0, std::memory_order_relaxed);
}

}  // namespace canopy::shm
