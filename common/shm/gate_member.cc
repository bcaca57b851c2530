#include "common/shm/gate_member.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>

namespace canopy::shm {
namespace {

// Of each word: one of them may be stopped, or end.
constexpr int kWatchers = 2;

}  // namespace

Result<std::unique_ptr<GateMember>> GateMember::Map(int fd, uint64_t size,
                                                    uint32_t index) {
  struct stat info;
  if (fstat(fd, &info) != 0 || size < sizeof(GateHeader) ||
      size > static_cast<uint64_t>(info.st_size)) {
    return Status(kErrHandshakeFailed, "the gate is too short");
  }
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return Status(kErrOutOfResource, "map of the gate");
  const auto* header = static_cast<const GateHeader*>(base);
  const uint32_t num_ranks = header->num_ranks;
  if (header->magic != kGateMagic || header->version != kGateVersion ||
      num_ranks > kMaxGateRanks || index >= num_ranks ||
      size < GateSize(num_ranks)) {
    munmap(base, size);
    return Status(kErrHandshakeFailed, "no gate of this version");
  }
  return std::unique_ptr<GateMember>(
      new GateMember(base, size, num_ranks, index));
}

GateMember::GateMember(void* base, uint64_t size, uint32_t num_ranks,
                       uint32_t index)
    : base_(base), size_(size), gate_(base, num_ranks), index_(index) {}

GateMember::~GateMember() { munmap(base_, size_); }

GateMember::Arrival GateMember::Arrive(uint64_t wants, Ticket* ticket) {
  auto& state = gate_.header().state;
  const uint64_t seen = state.load(std::memory_order_acquire);
  if (IsGateClosed(seen)) return Arrival::kClosed;
  const uint32_t generation = GateGeneration(seen);
  // The generation can not change before this rank has arrived.
  if (wants != 0) state.fetch_or(wants, std::memory_order_relaxed);
  const uint32_t index = index_ / kGateRanksPerWord;
  const uint64_t bit = uint64_t{1} << (index_ % kGateRanksPerWord);
  auto& word = gate_.word(index);
  const uint64_t before = (generation & 1) == 0
                              ? word.fetch_or(bit, std::memory_order_acq_rel)
                              : word.fetch_and(~bit, std::memory_order_acq_rel);
  if ((before & kGateClosedWord) != 0) return Arrival::kClosed;
  const uint64_t others = gate_.Arrived(index, before, generation);
  // Another process does as if it were this rank.
  if ((others & bit) != 0) return Arrival::kClosed;
  *ticket = {generation, std::popcount(others) < kWatchers};
  if ((others | bit) != gate_.Mask(index)) return Arrival::kWait;
  return Complete(generation);
}

// This rank was the last one of its word.
GateMember::Arrival GateMember::Complete(uint32_t generation) const {
  auto& state = gate_.header().state;
  uint64_t seen = state.load(std::memory_order_acquire);
  for (;;) {
    // The agent takes over, and with it this arrival.
    if (IsGateClosed(seen) || GateGeneration(seen) != generation) {
      return Arrival::kWait;
    }
    const bool last = FullGateWords(seen) + 1 == gate_.num_words();
    const bool ring = gate_.header().local_only == 0 || (seen & kGateSync) != 0;
    const uint64_t next = last && !ring ? GateState(generation + 1, false)
                                        : seen + (uint64_t{1} << 32);
    if (!state.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) {
      continue;
    }
    if (!last) return Arrival::kWait;
    if (ring) return Arrival::kRing;
    gate_.WakeAll();
    return Arrival::kReleased;
  }
}

bool GateMember::Wait(const Ticket& ticket, int64_t timeout_ns,
                      int* status) const {
  auto slept = GateView::Slept::kNotAtAll;
  for (;;) {
    const uint32_t seen = gate_.futex()->load(std::memory_order_acquire);
    if (GateGeneration(seen) != ticket.generation) break;
    if (timeout_ns == 0 || slept == GateView::Slept::kTimedOut) return false;
    slept = gate_.Sleep(seen, timeout_ns);
  }
  // Over, but nobody woke this rank: whoever ended the fence may have been
  // killed or stopped before it could wake the others.
  if (ticket.watch && slept != GateView::Slept::kWoken) gate_.WakeAll();
  *status = gate_.header().status[ticket.generation & 1].load(
      std::memory_order_relaxed);
  return true;
}

void GateMember::GiveUp(const Ticket& ticket, int status) const {
  auto& state = gate_.header().state;
  uint64_t seen = state.load(std::memory_order_acquire);
  do {
    if (GateGeneration(seen) != ticket.generation) return;
    gate_.header().status[ticket.generation & 1].store(
        status, std::memory_order_relaxed);
  } while (!state.compare_exchange_weak(
      seen, GateState(ticket.generation + 1, true), std::memory_order_acq_rel));
  gate_.WakeAll();
}

}  // namespace canopy::shm
