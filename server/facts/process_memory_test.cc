#include "server/facts/process_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace canopy::facts {
namespace {

TEST(ProcessMemoryTest, ResidentBytesGrowWithTouchedMemory) {
  constexpr size_t kBytes = size_t{32} << 20;
  const uint64_t before = ResidentBytes(getpid());
  EXPECT_GT(before, 0u);
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(ResidentBytes(getpid()), before + kBytes / 2);
  EXPECT_EQ(touched.back(), 1);
}

TEST(ProcessMemoryTest, AnInvalidPidHasNoResidentBytes) {
  EXPECT_EQ(ResidentBytes(0), 0u);
  EXPECT_EQ(ResidentBytes(-1), 0u);
}

}  // namespace
}  // namespace canopy::facts
