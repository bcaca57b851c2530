#include "common/shm/arena.h"

#include <algorithm>
#include <bit>

#include "common/shm/layout.h"

namespace canopy::shm {

Arena::Arena(uint64_t capacity, uint64_t budget)
    : capacity_(capacity), budget_(std::min(budget, capacity)) {}

uint64_t Arena::ClassSize(uint64_t size) {
  if (size <= 64) return 64;
  if (size > kWindow) return RoundUp(size, kWindow);
  const uint64_t step = std::bit_floor(size - 1) / 4;
  return RoundUp(size, step);
}

uint64_t Arena::Allocate(uint64_t size) {
  if (size > capacity_) return kNoBlock;
  size = ClassSize(size);
  uint64_t offset = Reuse(size);
  if (offset == kNoBlock) offset = Extend(size);
  if (offset != kNoBlock) return offset;
  Release(0);
  return Reuse(size);
}

uint64_t Arena::Reuse(uint64_t size) {
  // A block more than twice as large as needed is not used.
  const auto it = free_.lower_bound(size);
  if (it == free_.end() || it->first > 2 * size) return kNoBlock;
  const uint64_t offset = it->second.back();
  it->second.pop_back();
  if (it->first != size) oversized_[offset] = it->first;
  if (it->second.empty()) free_.erase(it);
  return offset;
}

uint64_t Arena::Extend(uint64_t size) {
  uint64_t offset = end_;
  const uint64_t room = kWindow - offset % kWindow;
  if (size > room && room != kWindow) offset += room;
  if (offset > capacity_ || size > capacity_ - offset ||
      size > budget_ - used_) {
    return kNoBlock;
  }
  end_ = offset + size;
  used_ += size;
  return offset;
}

void Arena::Free(uint64_t offset, uint64_t size) {
  size = ClassSize(size);
  if (const auto it = oversized_.find(offset); it != oversized_.end()) {
    size = it->second;
    oversized_.erase(it);
  }
  quarantine_.push_back({offset, size});
  quarantined_ += size;
  Release(kQuarantineBytes);
}

void Arena::Release(uint64_t keep_bytes) {
  while (quarantined_ > keep_bytes) {
    const Block block = quarantine_.front();
    quarantine_.pop_front();
    quarantined_ -= block.size;
    free_[block.size].push_back(block.offset);
  }
}

}  // namespace canopy::shm
