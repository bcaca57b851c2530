// The gate of a job on one node: a shared page in which the job's local ranks
// arrive at fences over the whole job, each by setting its own bit. This is
// the file's layout and what both sides do to it; gate_member.h is a rank's
// side, gate_keeper.h the agent's. docs/shm_layout.md tells the protocol.
#ifndef CANOPY_COMMON_SHM_GATE_LAYOUT_H_
#define CANOPY_COMMON_SHM_GATE_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace canopy::shm {

inline constexpr uint32_t kGateMagic = 0x47504143;  // "CAPG"
inline constexpr uint32_t kGateVersion = 2;
// What a fence ends with when the agent is gone and another one may come: who
// gets it arrives again, by message.
inline constexpr int kGateAgain = INT32_MIN;
// Ranks in one word; its top bit tells that the agent has closed it.
inline constexpr uint32_t kGateRanksPerWord = 63;
inline constexpr uint64_t kGateClosedWord = uint64_t{1} << 63;
inline constexpr uint32_t kMaxGateRanks = 1 << 16;

// What an arrival asks for, in the state's top bits.
// Data goes to other nodes.
inline constexpr uint64_t kGateCollect = uint64_t{1} << 62;
// The rank has sent commits that the agent may not have read yet.
inline constexpr uint64_t kGateSync = uint64_t{1} << 63;
inline constexpr uint64_t kGateWants = kGateCollect | kGateSync;

struct GateHeader {
  uint32_t magic = 0;
  uint32_t version = 0;
  uint32_t num_ranks = 0;
  // 1: no rank of the job is elsewhere, so that the last one to arrive
  // releases the others; 0: it tells the agent instead.
  uint32_t local_only = 0;
  // Low half, also the futex that everybody waits on: generation, shifted by
  // one, and whether the gate is closed. High half: number of words in which
  // all have arrived, and what the arrivals ask for. A fence is over when the
  // generation changes.
  alignas(64) std::atomic<uint64_t> state{0};
  // What the fences of even and odd generations ended with: who is slow to
  // leave one is not disturbed by the end of the next.
  std::atomic<int32_t> status[2] = {};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(GateHeader) == 128);

constexpr uint32_t GateWords(uint32_t num_ranks) {
  return (num_ranks + kGateRanksPerWord - 1) / kGateRanksPerWord;
}

// Header, words, number of commits of each rank.
constexpr size_t GateSize(uint32_t num_ranks) {
  return sizeof(GateHeader) + GateWords(num_ranks) * sizeof(uint64_t) +
         num_ranks * sizeof(uint32_t);
}

constexpr uint32_t GateGeneration(uint64_t state) {
  return static_cast<uint32_t>(state) >> 1;
}
constexpr bool IsGateClosed(uint64_t state) { return (state & 1) != 0; }
constexpr uint32_t FullGateWords(uint64_t state) {
  return static_cast<uint32_t>((state & ~kGateWants) >> 32);
}
constexpr uint64_t GateState(uint32_t generation, bool closed) {
  return static_cast<uint32_t>(generation << 1) | (closed ? 1U : 0U);
}

// A mapped gate. Does not own the memory.
class GateView {
 public:
  GateView() = default;
  explicit GateView(void* base, uint32_t num_ranks)
      : header_(static_cast<GateHeader*>(base)),
        num_ranks_(num_ranks),
        num_words_(GateWords(num_ranks)) {}

  GateHeader& header() const { return *header_; }
  uint32_t num_ranks() const { return num_ranks_; }
  uint32_t num_words() const { return num_words_; }
  std::atomic<uint64_t>& word(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(header_ + 1)[index];
  }
  // Of one rank, by its index: commits sent to the agent so far.
  std::atomic<uint32_t>& commits(uint32_t index) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(&word(num_words_))[index];
  }
  // The bits of a word's ranks.
  uint64_t Mask(uint32_t index) const {
    const uint32_t left = num_ranks_ - index * kGateRanksPerWord;
    return left >= kGateRanksPerWord ? kGateClosedWord - 1
                                     : (uint64_t{1} << left) - 1;
  }
  // Who has arrived, given the content of a word. A rank's bit tells arrival
  // by being set in even generations and by being clear in odd ones: so
  // nobody has to clear it, and nobody can do so too late.
  uint64_t Arrived(uint32_t index, uint64_t content,
                   uint32_t generation) const {
    return ((generation & 1) == 0 ? content : ~content) & Mask(index);
  }
  std::atomic<uint32_t>* futex() const {
    // Little-endian: the low half comes first.
    return reinterpret_cast<std::atomic<uint32_t>*>(&header_->state);
  }
  // Wakes everybody who waits for the generation to change.
  void WakeAll() const;
  // Waits while the futex holds `value`, at most `timeout_ns`; kForever: no
  // limit, which is a sixth cheaper.
  static constexpr int64_t kForever = -1;
  enum class Slept {
    kWoken,     // by WakeAll
    kNotAtAll,  // it held something else, or a signal came
    kTimedOut,
  };
  Slept Sleep(uint32_t value, int64_t timeout_ns) const;

 private:
  GateHeader* header_ = nullptr;
  uint32_t num_ranks_ = 0;
  uint32_t num_words_ = 0;
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_GATE_LAYOUT_H_
