#include "client/abi/libc_compat.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

namespace canopy::client {
namespace {

void ExpectLikeTheSystem(void* pc) {
  dl_find_object ours{};
  dl_find_object system{};
  ASSERT_EQ(_dl_find_object(pc, &system), 0);
  ASSERT_EQ(FindObject(pc, &ours), 0);
  EXPECT_EQ(ours.dlfo_eh_frame, system.dlfo_eh_frame);
  EXPECT_LE(ours.dlfo_map_start, pc);
  EXPECT_GT(ours.dlfo_map_end, pc);
  EXPECT_EQ(ours.dlfo_map_start, system.dlfo_map_start);
}

TEST(LibcCompat, FindsTheProgramAndItsLibraries) {
  ExpectLikeTheSystem(reinterpret_cast<void*>(&ExpectLikeTheSystem));
  ExpectLikeTheSystem(reinterpret_cast<void*>(dlsym(RTLD_DEFAULT, "fopen")));
}

TEST(LibcCompat, AddressesOutsideOfObjectsAreNotFound) {
  dl_find_object ours{};
  int local = 0;
  EXPECT_EQ(FindObject(&local, &ours), -1);
  EXPECT_EQ(FindObject(nullptr, &ours), -1);
}

TEST(LibcCompat, RandomNumbersDiffer) {
  const std::uint32_t first = RandomNumber();
  bool differs = false;
  for (int i = 0; i < 8 && !differs; ++i) differs = RandomNumber() != first;
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace canopy::client
