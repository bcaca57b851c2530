#include "common/shm/table_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/shm/layout.h"

namespace canopy::shm {
namespace {

// Returns the number of slots for a number of items. The table is at most two
// thirds full, so that a search for an absent key ends after one or two probes.
uint64_t SlotsFor(uint64_t items) {
  return std::bit_ceil(items + items / 2 + 1);
}

uint64_t EntrySize(const TableItem& item) {
  return RoundUp(sizeof(Entry) + item.key.size() + item.value.size(), 4);
}

uint64_t EntriesSize(const std::vector<TableItem>& items) {
  uint64_t size = 0;
  for (const TableItem& item : items) size += EntrySize(item);
  return size;
}

uint64_t SizeOf(uint64_t slots, uint64_t entries_size) {
  const uint64_t size =
      RoundUp(sizeof(Table) + slots * sizeof(Slot) + entries_size, 8);
  return size > UINT32_MAX ? 0 : size;
}

template <typename T>
void Put(char* out, const T& value) {
  std::memcpy(out, &value, sizeof value);
}

// Returns the end of the entry.
char* PutEntry(const TableItem& item, char* p) {
  Put(p, Entry{static_cast<uint32_t>(item.key.size()),
               static_cast<uint32_t>(item.value.size()), item.flags});
  char* const end = p + EntrySize(item);
  p += sizeof(Entry);
  p += item.key.copy(p, item.key.size());
  p += item.value.copy(p, item.value.size());
  while (p != end) *p++ = 0;
  return end;
}

Slot SlotAt(const char* table, uint32_t index) {
  Slot slot;
  std::memcpy(&slot, table + sizeof(Table) + index * sizeof(Slot), sizeof slot);
  return slot;
}

// Returns false if the entry is not within the table's `size` bytes.
bool ReadItem(const char* table, uint64_t size, uint32_t offset,
              TableItem* item) {
  Entry entry;
  if (offset + sizeof entry > size) return false;
  std::memcpy(&entry, table + offset, sizeof entry);
  const uint64_t key = offset + sizeof entry;
  if (key + entry.key_size + entry.value_size > size) return false;
  *item = {{table + key, entry.key_size},
           {table + key + entry.key_size, entry.value_size},
           entry.flags};
  return true;
}

// Returns the first free slot for a hash. There is one, unless another process
// has written to the table.
uint32_t FreeSlot(const char* table, uint32_t mask, uint32_t hash) {
  uint32_t at = hash & mask;
  for (uint32_t n = 0; n < mask && SlotAt(table, at).entry != 0; ++n) {
    at = (at + 1) & mask;
  }
  return at;
}

// Writes everything except the header into a table without used slots. Returns
// the end.
char* PutItems(const std::vector<TableItem>& items, uint32_t num_slots,
               char* out) {
  char* p = out + sizeof(Table) + num_slots * sizeof(Slot);
  for (const TableItem& item : items) {
    const Slot slot{HashKey(item.key), static_cast<uint32_t>(p - out)};
    const uint32_t at = FreeSlot(out, num_slots - 1, slot.hash);
    Put(out + sizeof(Table) + at * sizeof(Slot), slot);
    p = PutEntry(item, p);
  }
  return p;
}

char* PutTable(const std::vector<TableItem>& items, uint64_t num_slots,
               uint64_t size, char* out) {
  Table table{};
  table.size = static_cast<uint32_t>(size);
  table.num_slots = static_cast<uint32_t>(num_slots);
  table.num_entries = static_cast<uint32_t>(items.size());
  Put(out, table);
  std::memset(out + sizeof(Table), 0, num_slots * sizeof(Slot));
  return PutItems(items, table.num_slots, out);
}

}  // namespace

uint64_t TableSize(const std::vector<TableItem>& items) {
  return SizeOf(SlotsFor(items.size()), EntriesSize(items));
}

void WriteTable(const std::vector<TableItem>& items, char* out) {
  PutTable(items, SlotsFor(items.size()), TableSize(items), out);
}

std::vector<TableItem> ItemsOf(const char* table, uint64_t available) {
  Table head;
  std::memcpy(&head, table, sizeof head);
  const uint64_t size = std::min<uint64_t>(head.size, available);
  const uint64_t room = (size - std::min(size, sizeof head)) / sizeof(Slot);
  std::vector<TableItem> items;
  TableItem item;
  for (uint32_t i = 0; i < std::min<uint64_t>(head.num_slots, room); ++i) {
    const uint32_t entry = SlotAt(table, i).entry;
    if (entry != 0 && ReadItem(table, size, entry, &item)) {
      items.push_back(item);
    }
  }
  return items;
}

uint64_t GrowingTable::SizeFor(const std::vector<TableItem>& items) {
  return SizeOf(SlotsFor(2 * items.size() + 2), 2 * EntriesSize(items));
}

GrowingTable::GrowingTable(const std::vector<TableItem>& items, char* out)
    : out_(out),
      size_(static_cast<uint32_t>(SizeFor(items))),
      num_slots_(static_cast<uint32_t>(SlotsFor(2 * items.size() + 2))),
      num_keys_(static_cast<uint32_t>(items.size())),
      num_entries_(num_keys_) {
  end_ = static_cast<uint32_t>(PutTable(items, num_slots_, size_, out) - out);
}

bool GrowingTable::HasKey(uint32_t entry, std::string_view key) const {
  TableItem item;
  return ReadItem(out_, end_, entry, &item) && item.key == key;
}

uint32_t GrowingTable::SlotOf(std::string_view key, uint32_t hash) const {
  const uint32_t mask = num_slots_ - 1;
  uint32_t at = hash & mask;
  for (uint32_t n = 0; n < mask; ++n) {
    const Slot slot = SlotAt(out_, at);
    if (slot.entry == 0 || (slot.hash == hash && HasKey(slot.entry, key))) {
      break;
    }
    at = (at + 1) & mask;
  }
  return at;
}

void GrowingTable::PutItem(const TableItem& item) {
  const Slot slot{HashKey(item.key), end_};
  const uint32_t at = SlotOf(item.key, slot.hash);
  const uint32_t former = SlotAt(out_, at).entry;
  end_ = static_cast<uint32_t>(PutEntry(item, out_ + end_) - out_);
  ++num_entries_;
  if (former == 0) {
    ++num_keys_;
  } else {
    replaced_.push_back(former);
  }
  uint64_t word;
  std::memcpy(&word, &slot, sizeof word);
  auto* const place = out_ + sizeof(Table) + at * sizeof(Slot);
  __atomic_store_n(reinterpret_cast<uint64_t*>(place), word, __ATOMIC_RELEASE);
}

bool GrowingTable::Put(const std::vector<TableItem>& items) {
  const uint64_t keys = num_keys_ + items.size();
  if (EntriesSize(items) > size_ - end_ || keys + keys / 2 >= num_slots_) {
    return false;
  }
  for (const TableItem& item : items) PutItem(item);
  __atomic_store_n(
      reinterpret_cast<uint32_t*>(out_ + offsetof(Table, num_entries)),
      num_entries_, __ATOMIC_RELEASE);
  return true;
}

bool GrowingTable::HideReplaced() {
  const bool any = !replaced_.empty();
  for (const uint32_t entry : replaced_) {
    auto* const flags = out_ + entry + offsetof(Entry, flags);
    __atomic_store_n(reinterpret_cast<uint32_t*>(flags), kEntryOutsideScope,
                     __ATOMIC_RELAXED);
  }
  replaced_.clear();
  return any;
}

}  // namespace canopy::shm
