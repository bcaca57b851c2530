#include "server/library/host_module.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::library {
namespace {

// A module with all entries set and no memory after the last one.
std::vector<uintptr_t> ModuleOf(size_t entries) {
  return std::vector<uintptr_t>(entries, 0x1000);
}

std::vector<uintptr_t> Copied(size_t entries) {
  // Allocated on the heap, so that a sanitizer detects reads past the end.
  const std::vector<uintptr_t> module = ModuleOf(entries);
  const canopy_server_module_t copy = CopyModule(
      reinterpret_cast<const pmix_server_module_t*>(module.data()), entries);
  std::vector<uintptr_t> out(kMostEntries);
  std::memcpy(out.data(), &copy, sizeof copy);
  return out;
}

TEST(HostModule, AModuleIsNotReadPastItsEnd) {
  for (const size_t entries : {kFewestEntries, kUsualEntries, kMostEntries}) {
    std::vector<uintptr_t> expected = ModuleOf(entries);
    expected.resize(kMostEntries);
    EXPECT_EQ(Copied(entries), expected) << entries;
  }
}

TEST(HostModule, AMissingModuleHasNoFunctions) {
  const canopy_server_module_t copy = CopyModule(nullptr, kUsualEntries);
  EXPECT_EQ(copy.fence_nb, nullptr);
  EXPECT_EQ(copy.resource_block, nullptr);
}

TEST(HostModule, AnInfoOfTheCallSetsTheNumberOfEntries) {
  EXPECT_EQ(NumEntries({}, nullptr).value(), kUsualEntries);
  const InfoList few{{CANOPY_SERVER_MODULE_ENTRIES, Value::Size(21)}};
  EXPECT_EQ(NumEntries(few.span(), nullptr).value(), 21u);
  for (const size_t wrong : {size_t{0}, size_t{20}, kMostEntries + 1}) {
    const InfoList infos{{CANOPY_SERVER_MODULE_ENTRIES, Value::Size(wrong)}};
    EXPECT_EQ(NumEntries(infos.span(), nullptr).code(), kErrBadParam) << wrong;
  }
}

void Function() {}

const pmix_server_module_t* AsModule(const uintptr_t* words) {
  return reinterpret_cast<const pmix_server_module_t*>(words);
}

// Two modules, one behind the other, as in the memory of hosts: the words after
// `module` belong to `other`.
struct {
  uintptr_t module[kFewestEntries];
  uintptr_t other[kMostEntries];
} g_host;
uintptr_t g_newest[kMostEntries];

TEST(HostModule, AModuleOfTheOldestHeadersHasTheFewestEntries) {
  for (uintptr_t& word : g_host.module) {
    word = reinterpret_cast<uintptr_t>(Function);
  }
  for (uintptr_t& word : g_host.other) word = 0x5ca1ab1e;
  EXPECT_EQ(NumEntries({}, AsModule(g_host.module)).value(), kFewestEntries);
}

TEST(HostModule, AModuleOfTheNewestHeadersHasAllEntries) {
  EXPECT_EQ(NumEntries({}, AsModule(g_newest)).value(), kMostEntries);
}

TEST(HostModule, AnEnvironmentVariableSetsTheNumberOfEntries) {
  ASSERT_EQ(setenv("CANOPY_SERVER_MODULE_ENTRIES", "23", 1), 0);
  EXPECT_EQ(NumEntries({}, AsModule(g_newest)).value(), 23u);
  ASSERT_EQ(setenv("CANOPY_SERVER_MODULE_ENTRIES", "2x", 1), 0);
  EXPECT_EQ(NumEntries({}, AsModule(g_newest)).code(), kErrBadParam);
  unsetenv("CANOPY_SERVER_MODULE_ENTRIES");
}

}  // namespace
}  // namespace canopy::library
