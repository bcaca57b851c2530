#include "server/endpoint/memory_return.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace canopy::endpoint {
namespace {

size_t Resident() {
  std::ifstream file("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Leaves memory free that the allocator cannot return by itself, because memory
// behind it is still used.
std::unique_ptr<std::string> LeaveFree(size_t bytes) {
  std::vector<std::unique_ptr<std::string>> blocks;
  for (size_t i = 0; i < bytes / 1000; ++i) {
    blocks.push_back(std::make_unique<std::string>(960, 'x'));
  }
  return std::make_unique<std::string>(200, 'y');
}

MemoryReturn::Options Quick() {
  MemoryReturn::Options options;
  options.delay_ns = 1'000'000;
  options.calm_ns = 1'000'000;
  return options;
}

bool HasGlibcsAllocator() { return mallinfo2().arena > 0; }

TEST(MemoryReturn, TheMemoryIsReturnedAfterAPeak) {
  if (!HasGlibcsAllocator()) GTEST_SKIP() << "another allocator";
  EventLoop loop;
  MemoryReturn memory(&loop, Quick());
  const size_t before = Resident();
  const auto last = LeaveFree(size_t{100} << 20);
  ASSERT_GT(Resident(), before + (size_t{50} << 20));
  memory.OnReleased();
  for (int i = 0; i < 100 && memory.num_returns() == 0; ++i) loop.RunOnce(100);
  EXPECT_EQ(memory.num_returns(), 1);
  EXPECT_LT(Resident(), before + (size_t{20} << 20));
}

TEST(MemoryReturn, ASmallAmountOfFreeMemoryIsKept) {
  EventLoop loop;
  MemoryReturn memory(&loop, Quick());
  memory.OnReleased();
  for (int i = 0; i < 5; ++i) loop.RunOnce(5);
  EXPECT_EQ(memory.num_returns(), 0);
}

TEST(MemoryReturn, TheMemoryIsReturnedEvenIfTheLoopIsAlwaysBusy) {
  if (!HasGlibcsAllocator()) GTEST_SKIP() << "another allocator";
  EventLoop loop;
  MemoryReturn::Options options = Quick();
  options.max_busy = 3;
  MemoryReturn memory(&loop, options);
  const auto last = LeaveFree(size_t{100} << 20);
  memory.OnReleased();
  int rounds = 0;
  while (memory.num_returns() == 0 && rounds < 10'000'000) {
    loop.RunOnce(0);
    ++rounds;
  }
  EXPECT_EQ(memory.num_returns(), 1);
  EXPECT_GT(rounds, 3 * 3);
}

}  // namespace
}  // namespace canopy::endpoint
