#include "common/shm/arena.h"

#include <gtest/gtest.h>

#include <set>

#include "common/shm/layout.h"

namespace canopy::shm {
namespace {

TEST(ArenaTest, BlocksDoNotOverlapOrCrossWindows) {
  Arena arena(16 * kWindow, 16 * kWindow);
  uint64_t last_end = 0;
  for (uint64_t size = 1; size < kWindow; size = size * 3 + 17) {
    const uint64_t offset = arena.Allocate(size);
    ASSERT_NE(offset, Arena::kNoBlock);
    EXPECT_GE(offset, last_end);
    EXPECT_EQ(offset % kBlockAlign, 0u);
    EXPECT_EQ(offset / kWindow, (offset + size - 1) / kWindow);
    last_end = offset + size;
  }
}

TEST(ArenaTest, ABlockLargerThanAWindowStartsAtAWindow) {
  Arena arena(16 * kWindow, 16 * kWindow);
  arena.Allocate(100);
  const uint64_t offset = arena.Allocate(kWindow + 1);
  EXPECT_EQ(offset, kWindow);
  EXPECT_EQ(arena.Allocate(2 * kWindow), 3 * kWindow);
}

TEST(ArenaTest, RepeatedReplacementNeedsBoundedMemory) {
  Arena arena(uint64_t{1} << 36, uint64_t{1} << 36);
  uint64_t block = arena.Allocate(100000);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t next = arena.Allocate(100000);
    ASSERT_NE(next, Arena::kNoBlock);
    arena.Free(block, 100000);
    block = next;
  }
  EXPECT_LT(arena.used(), 2 * Arena::kQuarantineBytes);
}

TEST(ArenaTest, TheBudgetHoldsAndFreedBlocksAreReused) {
  Arena arena(uint64_t{1} << 30, 1 << 20);
  std::set<uint64_t> blocks;
  for (;;) {
    const uint64_t block = arena.Allocate(4096);
    if (block == Arena::kNoBlock) break;
    EXPECT_TRUE(blocks.insert(block).second);
  }
  EXPECT_EQ(blocks.size(), 256u);
  EXPECT_EQ(arena.Allocate(1), Arena::kNoBlock);
  arena.Free(*blocks.begin(), 4096);
  EXPECT_EQ(arena.Allocate(4096), *blocks.begin());
}

TEST(ArenaTest, AFreeLargerBlockIsReusedAndFreedAsAWhole) {
  Arena arena(kWindow, 4096);
  const uint64_t block = arena.Allocate(4096);
  arena.Free(block, 4096);
  ASSERT_EQ(arena.Allocate(3000), block);
  arena.Free(block, 3000);
  EXPECT_EQ(arena.Allocate(4096), block);
}

}  // namespace
}  // namespace canopy::shm
