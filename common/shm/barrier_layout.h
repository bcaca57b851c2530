// The shared-memory barrier of a job on one node: a page in which the job's
// local ranks arrive at fences over the whole job. Each rank sets its own bit.
// This header defines the file's layout and the operations that both sides
// share; barrier_participant.h is the rank's side, barrier_server.h the
// agent's. docs/shm_layout.md describes the protocol.
#ifndef CANOPY_COMMON_SHM_BARRIER_LAYOUT_H_
#define CANOPY_COMMON_SHM_BARRIER_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace canopy::shm {

inline constexpr uint32_t kBarrierMagic = 0x47504143;  // "CAPG"
inline constexpr uint32_t kBarrierVersion = 2;
// Status of a fence if the agent is gone and may have a successor: the
// participant arrives again, by message.
inline constexpr int kBarrierAgain = INT32_MIN;
// Number of ranks in one word; the word's top bit is set when the agent has
// closed the word.
inline constexpr uint32_t kBarrierRanksPerWord = 63;
inline constexpr uint64_t kBarrierClosedWord = uint64_t{1} << 63;
inline constexpr uint32_t kMaxBarrierRanks = 1 << 16;

// Requests of an arrival, in the top bits of the state. kBarrierCollect: the
// fence collects data for other nodes.
inline constexpr uint64_t kBarrierCollect = uint64_t{1} << 62;
// kBarrierSync: the rank has sent commits that the agent may not have read yet.
inline constexpr uint64_t kBarrierSync = uint64_t{1} << 63;
inline constexpr uint64_t kBarrierWants = kBarrierCollect | kBarrierSync;

struct BarrierHeader {
  uint32_t magic = 0;
  uint32_t version = 0;
  uint32_t num_ranks = 0;
  // 1: all ranks of the job are on this node, so the last one to arrive
  // releases the others. 0: the last one signals the agent instead.
  uint32_t local_only = 0;
  // Low half, also the futex on which participants wait: the generation,
  // shifted left by one, and bit 0, which is set while the barrier is closed.
  // High half: the number of words in which all ranks have arrived, and the
  // requests of arrivals. A fence is over when the generation changes.
  alignas(64) std::atomic<uint64_t> state{0};
  // Status of the last fence of even and of odd generation, so that the end of
  // the next fence does not affect a participant that is slow to leave one.
  std::atomic<int32_t> status[2] = {};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(BarrierHeader) == 128);

constexpr uint32_t BarrierWords(uint32_t num_ranks) {
  return (num_ranks + kBarrierRanksPerWord - 1) / kBarrierRanksPerWord;
}

// Returns the size of the header, the words, and a commit counter for each
// rank.
constexpr size_t BarrierSize(uint32_t num_ranks) {
  return sizeof(BarrierHeader) + BarrierWords(num_ranks) * sizeof(uint64_t) +
         num_ranks * sizeof(uint32_t);
}

constexpr uint32_t BarrierGeneration(uint64_t state) {
  return static_cast<uint32_t>(state) >> 1;
}
constexpr bool IsBarrierClosed(uint64_t state) { return (state & 1) != 0; }
constexpr uint32_t FullBarrierWords(uint64_t state) {
  return static_cast<uint32_t>((state & ~kBarrierWants) >> 32);
}
constexpr uint64_t BarrierState(uint32_t generation, bool closed) {
  return static_cast<uint32_t>(generation << 1) | (closed ? 1U : 0U);
}

// A mapped barrier. Does not own the memory.
class BarrierView {
 public:
  BarrierView() = default;
  explicit BarrierView(void* base, uint32_t num_ranks)
      : header_(static_cast<BarrierHeader*>(base)),
        num_ranks_(num_ranks),
        num_words_(BarrierWords(num_ranks)) {}

  BarrierHeader& header() const { return *header_; }
  uint32_t num_ranks() const { return num_ranks_; }
  uint32_t num_words() const { return num_words_; }
  std::atomic<uint64_t>& word(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(header_ + 1)[index];
  }
  // Returns the counter of the commits that the rank with this index has sent
  // to the agent.
  std::atomic<uint32_t>& commits(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(&word(num_words_))[index];
  }
  // Returns the bits of the ranks of a word.
  uint64_t Mask(uint32_t index) const {
    const uint32_t left = num_ranks_ - index * kBarrierRanksPerWord;
    return left >= kBarrierRanksPerWord ? kBarrierClosedWord - 1
                                        : (uint64_t{1} << left) - 1;
  }
  // Returns the ranks that have arrived, given the content of a word. A rank's
  // bit means arrival when it is set in even generations and when it is clear
  // in odd ones, so it never needs to be reset.
  uint64_t Arrived(uint32_t index, uint64_t content,
                   uint32_t generation) const {
    return ((generation & 1) == 0 ? content : ~content) & Mask(index);
  }
  std::atomic<uint32_t>* futex() const {
    // Little-endian: the low half comes first.
    return reinterpret_cast<std::atomic<uint32_t>*>(&header_->state);
  }
  // Wakes all participants that wait for the generation to change.
  void WakeAll() const;
  // Sleeps while the futex contains `value`, for at most `timeout_ns`. Without
  // a limit (kForever) the call costs a sixth less.
  static constexpr int64_t kForever = -1;
  enum class Slept {
    kWoken,     // by WakeAll
    kNotAtAll,  // the value differed, or a signal arrived
    kTimedOut,
  };
  Slept Sleep(uint32_t value, int64_t timeout_ns) const;

 private:
  BarrierHeader* header_ = nullptr;
  uint32_t num_ranks_ = 0;
  uint32_t num_words_ = 0;
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_BARRIER_LAYOUT_H_
