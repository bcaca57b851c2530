#include "common/shm/barrier_server.h"

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

Result<std::unique_ptr<BarrierServer>> BarrierServer::Create(uint32_t num_ranks,
                                                             bool local_only) {
  if (num_ranks == 0 || num_ranks > kMaxBarrierRanks) {
    return Status(kErrBadParam,
                  "a barrier segment has no room for this number of ranks");
  }
  const uint64_t size = BarrierSize(num_ranks);
  UniqueFd fd = CreateMemoryFile("canopy-gate");
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
          0) {
    return Status(kErrOutOfResource, "cannot create a barrier segment");
  }
  void* base =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "cannot map a barrier segment");
  }
  auto* header = new (base) BarrierHeader;
  header->magic = kBarrierMagic;
  header->version = kBarrierVersion;
  header->num_ranks = num_ranks;
  header->local_only = local_only ? 1 : 0;
  header->state.store(BarrierState(0, true), std::memory_order_release);
  return std::unique_ptr<BarrierServer>(
      new BarrierServer(std::move(fd), base, size, num_ranks));
}

BarrierServer::BarrierServer(UniqueFd fd, void* base, uint64_t size,
                             uint32_t num_ranks)
    : fd_(std::move(fd)), base_(base), size_(size), barrier_(base, num_ranks) {}

BarrierServer::~BarrierServer() { munmap(base_, size_); }

uint32_t BarrierServer::generation() const {
  return BarrierGeneration(
      barrier_.header().state.load(std::memory_order_acquire));
}

bool BarrierServer::Open() {
  if (open_) return true;
  for (uint32_t w = 0; w < barrier_.num_words(); ++w) {
    const uint64_t nobody = (closed_at_ & 1) == 0 ? 0 : barrier_.Mask(w);
    barrier_.word(w).store(nobody, std::memory_order_relaxed);
  }
  auto& state = barrier_.header().state;
  uint64_t seen = state.load(std::memory_order_relaxed);
  const uint64_t closed = BarrierState(closed_at_, true);
  // The number of attempts is limited, so that a participant that writes
  // continuously cannot stop the agent.
  for (int i = 0; i < kMaxTries; ++i) {
    if (static_cast<uint32_t>(seen) != closed) return false;
    // A participant that is about to arrive may have set its request bits
    // already.
    const uint64_t next =
        BarrierState(closed_at_, false) | (seen & kBarrierWants);
    open_ = state.compare_exchange_weak(seen, next, std::memory_order_acq_rel);
    if (open_) return true;
  }
  return false;
}

BarrierServer::Taken BarrierServer::Close() {
  Taken taken;
  if (!open_) return taken;
  open_ = false;
  was_waiting_ = false;
  // From now on no participant can complete a fence, so the generation stays.
  const uint64_t seen =
      barrier_.header().state.fetch_or(1, std::memory_order_acq_rel);
  closed_at_ = BarrierGeneration(seen);
  if (IsBarrierClosed(seen)) {
    taken.corrupted = true;
    return taken;
  }
  for (uint32_t w = 0; w < barrier_.num_words(); ++w) {
    const uint64_t content = barrier_.word(w).fetch_or(
        kBarrierClosedWord, std::memory_order_acq_rel);
    uint64_t bits = barrier_.Arrived(w, content, closed_at_);
    for (; bits != 0; bits &= bits - 1) {
      taken.ranks.push_back(w * kBarrierRanksPerWord +
                            static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
  // A participant sets its request bits in the state before its arrival bit in
  // a word. It may set both after the state was closed but before its word was
  // closed. So the request bits are read after all words were closed.
  const uint64_t wants =
      barrier_.header().state.load(std::memory_order_acquire) & kBarrierWants;
  taken.collect = (wants & kBarrierCollect) != 0;
  taken.sync = (wants & kBarrierSync) != 0;
  return taken;
}

void BarrierServer::Release(int status) {
  barrier_.header().status[closed_at_ & 1].store(status,
                                                 std::memory_order_relaxed);
  ++closed_at_;
  barrier_.header().state.store(BarrierState(closed_at_, true),
                                std::memory_order_release);
}

uint64_t BarrierServer::ArrivedIn(uint32_t word, uint32_t generation) const {
  return barrier_.Arrived(
      word, barrier_.word(word).load(std::memory_order_acquire), generation);
}

bool BarrierServer::IsFull() const {
  const uint32_t now = generation();
  for (uint32_t w = 0; w < barrier_.num_words(); ++w) {
    if (ArrivedIn(w, now) != barrier_.Mask(w)) return false;
  }
  return true;
}

bool BarrierServer::IsStuck() {
  if (!open_) return false;
  const uint32_t now = generation();
  bool waiting = false;
  for (uint32_t w = 0; w < barrier_.num_words(); ++w) {
    waiting |= ArrivedIn(w, now) != 0;
  }
  const bool stuck = waiting && was_waiting_ && now == watched_at_;
  watched_at_ = now;
  was_waiting_ = waiting;
  return stuck;
}

uint32_t BarrierServer::CommitsOf(uint32_t index) const {
  return barrier_.commits(index).load(std::memory_order_relaxed);
}

void BarrierServer::ResetCommits(uint32_t index) {
  barrier_.commits(index).store(0, std::memory_order_relaxed);
}

}  // namespace canopy::shm
