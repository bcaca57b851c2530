#include "common/shm/barrier_participant.h"

#include <sys/mman.h>
#include <sys/stat.h>

namespace canopy::shm {
namespace {

// Selects the participants that watch (Ticket::watch). Not std::popcount, which
// is a function call at the base level of x86-64.
bool IsEmptyOrSingle(uint64_t bits) { return (bits & (bits - 1)) == 0; }

}  // namespace

Result<std::unique_ptr<BarrierParticipant>> BarrierParticipant::Map(
    int fd, uint64_t size, uint32_t index) {
  struct stat info;
  if (fstat(fd, &info) != 0 || size < sizeof(BarrierHeader) ||
      size > static_cast<uint64_t>(info.st_size)) {
    return Status(kErrHandshakeFailed, "the barrier segment is too short");
  }
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "cannot map the barrier segment");
  }
  const auto* header = static_cast<const BarrierHeader*>(base);
  const uint32_t num_ranks = header->num_ranks;
  if (header->magic != kBarrierMagic || header->version != kBarrierVersion ||
      num_ranks > kMaxBarrierRanks || index >= num_ranks ||
      size < BarrierSize(num_ranks)) {
    munmap(base, size);
    return Status(kErrHandshakeFailed,
                  "the barrier segment is invalid or has another version");
  }
  return std::unique_ptr<BarrierParticipant>(
      new BarrierParticipant(base, size, num_ranks, index));
}

BarrierParticipant::BarrierParticipant(void* base, uint64_t size,
                                       uint32_t num_ranks, uint32_t index)
    : base_(base), size_(size), barrier_(base, num_ranks), index_(index) {}

BarrierParticipant::~BarrierParticipant() { munmap(base_, size_); }

BarrierParticipant::Arrival BarrierParticipant::Arrive(uint64_t wants,
                                                       Ticket* ticket) {
  auto& state = barrier_.header().state;
  const uint64_t seen = state.load(std::memory_order_acquire);
  if (IsBarrierClosed(seen)) return Arrival::kClosed;
  const uint32_t generation = BarrierGeneration(seen);
  // The generation cannot change before this rank has arrived.
  if (wants != 0) state.fetch_or(wants, std::memory_order_relaxed);
  const uint32_t index = index_ / kBarrierRanksPerWord;
  const uint64_t bit = uint64_t{1} << (index_ % kBarrierRanksPerWord);
  auto& word = barrier_.word(index);
  const uint64_t before = (generation & 1) == 0
                              ? word.fetch_or(bit, std::memory_order_acq_rel)
                              : word.fetch_and(~bit, std::memory_order_acq_rel);
  if ((before & kBarrierClosedWord) != 0) return Arrival::kClosed;
  const uint64_t others = barrier_.Arrived(index, before, generation);
  // The bit is set already: another process acts as this rank.
  if ((others & bit) != 0) return Arrival::kClosed;
  *ticket = {generation, IsEmptyOrSingle(others)};
  if ((others | bit) != barrier_.Mask(index)) return Arrival::kWait;
  return Complete(generation);
}

// Called if this rank was the last one of its word.
BarrierParticipant::Arrival BarrierParticipant::Complete(
    uint32_t generation) const {
  auto& state = barrier_.header().state;
  uint64_t seen = state.load(std::memory_order_acquire);
  for (;;) {
    // The agent takes over the fence, and this arrival with it.
    if (IsBarrierClosed(seen) || BarrierGeneration(seen) != generation) {
      return Arrival::kWait;
    }
    const bool last = FullBarrierWords(seen) + 1 == barrier_.num_words();
    const bool ring =
        barrier_.header().local_only == 0 || (seen & kBarrierSync) != 0;
    const uint64_t next = last && !ring ? BarrierState(generation + 1, false)
                                        : seen + (uint64_t{1} << 32);
    if (!state.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) {
      continue;
    }
    if (!last) return Arrival::kWait;
    if (ring) return Arrival::kNotify;
    barrier_.WakeAll();
    return Arrival::kReleased;
  }
}

bool BarrierParticipant::Wait(const Ticket& ticket, int64_t timeout_ns,
                              int* status) const {
  auto slept = BarrierView::Slept::kNotAtAll;
  for (;;) {
    const uint32_t seen = barrier_.futex()->load(std::memory_order_acquire);
    if (BarrierGeneration(seen) != ticket.generation) break;
    if (timeout_ns == 0 || slept == BarrierView::Slept::kTimedOut) return false;
    slept = barrier_.Sleep(seen, timeout_ns);
  }
  // The fence ended without a wake-up, because the participant that ended it
  // may have been killed or stopped before it could wake the others.
  if (ticket.watch && slept != BarrierView::Slept::kWoken) barrier_.WakeAll();
  *status = barrier_.header().status[ticket.generation & 1].load(
      std::memory_order_relaxed);
  return true;
}

void BarrierParticipant::GiveUp(const Ticket& ticket, int status) const {
  auto& state = barrier_.header().state;
  uint64_t seen = state.load(std::memory_order_acquire);
  do {
    if (BarrierGeneration(seen) != ticket.generation) return;
    barrier_.header().status[ticket.generation & 1].store(
        status, std::memory_order_relaxed);
  } while (!state.compare_exchange_weak(
      seen, BarrierState(ticket.generation + 1, true),
      std::memory_order_acq_rel));
  barrier_.WakeAll();
}

}  // namespace canopy::shm
