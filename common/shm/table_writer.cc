#include "common/shm/table_writer.h"

#include <bit>
#include <cstring>

#include "common/shm/layout.h"

namespace canopy::shm {
namespace {

// At most two thirds full, so that a miss ends after a probe or two.
uint64_t SlotsFor(uint64_t items) {
  return std::bit_ceil(items + items / 2 + 1);
}

template <typename T>
void Put(char* out, const T& value) {
  std::memcpy(out, &value, sizeof value);
}

}  // namespace

uint64_t TableSize(const std::vector<TableItem>& items) {
  uint64_t size = sizeof(Table) + SlotsFor(items.size()) * sizeof(Slot);
  for (const TableItem& item : items) {
    size += RoundUp(sizeof(Entry) + item.key.size() + item.value.size(), 4);
  }
  size = RoundUp(size, 8);
  return size > UINT32_MAX ? 0 : size;
}

void WriteTable(const std::vector<TableItem>& items, char* out) {
  Table table{};
  table.size = static_cast<uint32_t>(TableSize(items));
  table.num_slots = static_cast<uint32_t>(SlotsFor(items.size()));
  table.num_entries = static_cast<uint32_t>(items.size());
  Put(out, table);
  char* slots = out + sizeof(Table);
  std::memset(slots, 0, table.num_slots * sizeof(Slot));
  const uint32_t mask = table.num_slots - 1;
  char* p = slots + table.num_slots * sizeof(Slot);
  for (const TableItem& item : items) {
    const Slot slot{HashKey(item.key), static_cast<uint32_t>(p - out)};
    uint32_t at = slot.hash & mask;
    Slot taken;
    for (;; at = (at + 1) & mask) {
      std::memcpy(&taken, slots + at * sizeof(Slot), sizeof taken);
      if (taken.entry == 0) break;
    }
    Put(slots + at * sizeof(Slot), slot);
    Put(p, Entry{static_cast<uint32_t>(item.key.size()),
                 static_cast<uint32_t>(item.value.size()), item.flags});
    p += sizeof(Entry);
    p += item.key.copy(p, item.key.size());
    p += item.value.copy(p, item.value.size());
    while ((p - out) % 4 != 0) *p++ = 0;
  }
}

}  // namespace canopy::shm
