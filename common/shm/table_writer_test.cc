#include "common/shm/table_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/shm/layout.h"

namespace canopy::shm {
namespace {

using Keys = std::map<std::string, std::string>;

// Owns the memory of a table.
class Memory {
 public:
  explicit Memory(uint64_t size) : words_(size / 8) {}
  char* data() { return reinterpret_cast<char*>(words_.data()); }
  uint64_t size() const { return words_.size() * 8; }

 private:
  std::vector<uint64_t> words_;
};

Keys BySlots(Memory& memory) {
  Keys keys;
  for (const TableItem& item : ItemsOf(memory.data(), memory.size())) {
    EXPECT_TRUE(keys.emplace(item.key, item.value).second) << item.key;
  }
  return keys;
}

// Iterates over a table as libraries of the first releases do.
Keys ByEntries(Memory& memory) {
  Keys keys;
  Table table;
  std::memcpy(&table, memory.data(), sizeof table);
  uint64_t at = sizeof table + table.num_slots * sizeof(Slot);
  for (uint32_t i = 0; i < table.num_entries; ++i) {
    Entry entry;
    std::memcpy(&entry, memory.data() + at, sizeof entry);
    const char* const key = memory.data() + at + sizeof entry;
    if ((entry.flags & kEntryOutsideScope) == 0) {
      EXPECT_TRUE(
          keys.emplace(std::string(key, entry.key_size),
                       std::string(key + entry.key_size, entry.value_size))
              .second);
    }
    at = RoundUp(at + sizeof entry + entry.key_size + entry.value_size, 4);
  }
  return keys;
}

class GrowingTableTest : public testing::Test {
 protected:
  const std::vector<TableItem> first_ = {
      {"a", "one", 0}, {"b", "two", 0}, {"c", std::string_view(kFill, 200), 0}};
  Memory memory_{GrowingTable::SizeFor(first_)};
  GrowingTable table_{first_, memory_.data()};

 private:
  static constexpr char kFill[200] = {};
};

TEST_F(GrowingTableTest, AcceptsNewKeysAndNewValues) {
  ASSERT_TRUE(table_.Put({{"b", "longer than two", 0}, {"d", "four", 0}}));
  const Keys keys = BySlots(memory_);
  EXPECT_EQ(keys.size(), 4u);
  EXPECT_EQ(keys.at("a"), "one");
  EXPECT_EQ(keys.at("b"), "longer than two");
  EXPECT_EQ(keys.at("d"), "four");
}

TEST_F(GrowingTableTest, ReplacedEntriesAreHiddenFromIterations) {
  ASSERT_TRUE(table_.Put({{"b", "x", 0}}));
  EXPECT_TRUE(table_.HideReplaced());
  EXPECT_FALSE(table_.HideReplaced());
  ASSERT_TRUE(table_.Put({{"b", "y", 0}, {"d", "four", 0}}));
  EXPECT_TRUE(table_.HideReplaced());
  const Keys keys = ByEntries(memory_);
  EXPECT_EQ(keys, BySlots(memory_));
  EXPECT_EQ(keys.at("b"), "y");
  EXPECT_EQ(keys.size(), 4u);
}

TEST_F(GrowingTableTest, AnItemThatDoesNotFitChangesNothing) {
  const Keys before = BySlots(memory_);
  const std::string large(memory_.size(), 'x');
  EXPECT_FALSE(table_.Put({{"d", "four", 0}, {"a", large, 0}}));
  EXPECT_EQ(BySlots(memory_), before);
  // This call has as many keys as the table has slots, which is too many.
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back(std::to_string(i));
  std::vector<TableItem> items;
  for (const std::string& name : names) items.push_back({name, {}, 0});
  EXPECT_FALSE(table_.Put(items));
  EXPECT_EQ(BySlots(memory_), before);
}

TEST_F(GrowingTableTest, PutFailsWhenTheTableIsFull) {
  int puts = 0;
  while (table_.Put({{"a", "two", 0}})) ++puts;
  EXPECT_GT(puts, 5);
  EXPECT_LT(puts, 40);
  EXPECT_EQ(BySlots(memory_).size(), 3u);
}

TEST(ItemsOfTest, ReturnsOnlyItemsWithinTheGivenBytes) {
  const std::vector<TableItem> items = {{"a", "one", 0}, {"b", "two", 0}};
  Memory memory(TableSize(items));
  WriteTable(items, memory.data());
  EXPECT_EQ(ItemsOf(memory.data(), memory.size()).size(), 2u);
  EXPECT_EQ(ItemsOf(memory.data(), memory.size() - 4).size(), 1u);
  EXPECT_TRUE(ItemsOf(memory.data(), sizeof(Table)).empty());
}

}  // namespace
}  // namespace canopy::shm
