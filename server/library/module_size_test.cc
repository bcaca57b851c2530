#include "server/library/module_size.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace canopy::library {
namespace {

constexpr size_t kFew = 21;
constexpr size_t kMany = 28;

void Function() {}
const uintptr_t kCode = reinterpret_cast<uintptr_t>(Function);

uintptr_t g_words[kMany];

TEST(ModuleSizeTest, TheSizeOfAVariableComesFromItsSymbol) {
  const std::optional<size_t> bytes = BytesInSymbol(g_words);
  ASSERT_TRUE(bytes);
#ifdef __SANITIZE_ADDRESS__
  EXPECT_GE(*bytes, sizeof g_words);
#else
  EXPECT_EQ(*bytes, sizeof g_words);
#endif
  EXPECT_EQ(BytesInSymbol(g_words + 3), *bytes - 3 * sizeof *g_words);
}

TEST(ModuleSizeTest, HeapAndStackMemoryHasNoSymbol) {
  const auto heap = std::make_unique<uintptr_t[]>(kMany);
  uintptr_t stack[kMany] = {};
  EXPECT_EQ(BytesInSymbol(heap.get()), std::nullopt);
  EXPECT_EQ(BytesInSymbol(stack), std::nullopt);
  EXPECT_EQ(BytesInSymbol(nullptr), std::nullopt);
}

TEST(ModuleSizeTest, PlausibleEntriesCountsEntriesThatAreNullOrCode) {
  const auto words = std::make_unique<uintptr_t[]>(kMany);
  EXPECT_EQ(PlausibleEntries(words.get(), kFew, kMany), kMany);
  for (size_t i = 0; i < kMany; ++i) words[i] = kCode;
  EXPECT_EQ(PlausibleEntries(words.get(), kFew, kMany), kMany);
  words[25] = reinterpret_cast<uintptr_t>(words.get());
  EXPECT_EQ(PlausibleEntries(words.get(), kFew, kMany), 25u);
  words[kFew] = 1;
  EXPECT_EQ(PlausibleEntries(words.get(), kFew, kMany), kFew);
}

TEST(ModuleSizeTest, CopiesTheGivenNumberOfWords) {
  for (size_t i = 0; i < kMany; ++i) g_words[i] = i;
  uintptr_t copy[kMany] = {};
  CopyWords(g_words, kFew, copy);
  EXPECT_EQ(copy[kFew - 1], kFew - 1);
  EXPECT_EQ(copy[kFew], 0u);
}

TEST(ModuleSizeTest, UnreadableMemoryIsNotRead) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const end = static_cast<char*>(pages) + page;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  EXPECT_EQ(PlausibleEntries(end - kFew * sizeof(uintptr_t), kFew, kMany),
            kFew);
  EXPECT_EQ(PlausibleEntries(end - 24 * sizeof(uintptr_t), kFew, kMany), 24u);
  munmap(pages, 2 * page);
}

}  // namespace
}  // namespace canopy::library
