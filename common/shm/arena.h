// Assigns blocks in the arena of a segment: an allocator whose bookkeeping is
// outside of the shared memory.
#ifndef CANOPY_COMMON_SHM_ARENA_H_
#define CANOPY_COMMON_SHM_ARENA_H_

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

namespace canopy::shm {

// Offsets count from the start of the arena. Not thread-safe.
//
// Sizes are rounded up to a size class (four classes between two powers of
// two), and a freed block is reused for its class, so repeated replacement of
// blocks needs bounded memory. A freed block first waits in a queue of 4 MiB. A
// reader that still uses a block notices its reuse (SegmentReader::StillValid),
// but the queue makes this rare.
class Arena {
 public:
  static constexpr uint64_t kNoBlock = UINT64_MAX;

  // `capacity` is the number of bytes of the arena, `budget` the number of
  // bytes that may ever be used, because memory that was used once is never
  // returned to the system.
  Arena(uint64_t capacity, uint64_t budget);

  // Returns the offset of a block, or kNoBlock if the budget does not allow it.
  uint64_t Allocate(uint64_t size);
  // Frees a block. `offset` must come from Allocate with the same size.
  void Free(uint64_t offset, uint64_t size);

  uint64_t budget() const { return budget_; }
  // Returns the bytes of the arena used so far: an upper bound for its memory.
  uint64_t used() const { return used_; }

  static constexpr uint64_t kQuarantineBytes = 4u << 20;

 private:
  struct Block {
    uint64_t offset;
    uint64_t size;
  };

  static uint64_t ClassSize(uint64_t size);
  uint64_t Reuse(uint64_t size);
  uint64_t Extend(uint64_t size);
  void Release(uint64_t keep_bytes);

  uint64_t capacity_;
  uint64_t budget_;
  uint64_t end_ = 0;   // first byte that was never allocated
  uint64_t used_ = 0;  // without the gaps before window boundaries
  uint64_t quarantined_ = 0;
  std::deque<Block> quarantine_;
  std::map<uint64_t, std::vector<uint64_t>> free_;  // class -> offsets
  // Blocks of a larger class that were allocated for a smaller one.
  std::unordered_map<uint64_t, uint64_t> oversized_;
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_ARENA_H_
