// Writes the hash tables of a segment; see Table in layout.h.
#ifndef CANOPY_COMMON_SHM_TABLE_WRITER_H_
#define CANOPY_COMMON_SHM_TABLE_WRITER_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace canopy::shm {

struct TableItem {
  std::string_view key;
  std::string_view value;
  uint32_t flags = 0;
};

// Bytes that WriteTable takes for these items; 0 when that is more than a
// table can have (4 GiB).
uint64_t TableSize(const std::vector<TableItem>& items);

// Writes the table to `out`, which has TableSize(items) bytes at a multiple of
// 8. Keys must differ from each other.
void WriteTable(const std::vector<TableItem>& items, char* out);

// The keys of a table, each with the entry that counts, as views into it.
// Nothing is read beyond `available` bytes.
std::vector<TableItem> ItemsOf(const char* table, uint64_t available);

// A table with room for more, to which entries are added while others read it.
// Everything that the writer has to know is here and not in the memory that it
// shares.
class GrowingTable {
 public:
  // Bytes of a table of these items with room for about as many again; 0 when
  // that is more than a table can have.
  static uint64_t SizeFor(const std::vector<TableItem>& items);

  // Writes it to `out`, which has SizeFor(items) bytes at a multiple of 8 and
  // outlives this. Keys must differ from each other.
  GrowingTable(const std::vector<TableItem>& items, char* out);

  uint32_t size() const { return size_; }
  // Adds keys, or gives those that are there another value. A reader that looks
  // for one of them finds the former entry or the new one, whole. False, with
  // nothing changed, when there is no room. Keys must differ from each other.
  bool Put(const std::vector<TableItem>& items);
  // Hides replaced entries from readers that walk from entry to entry; such a
  // reader must be able to tell by then that the table has changed. False when
  // there are none.
  bool HideReplaced();

 private:
  // Where the slot of this key is, or the free one that it would have.
  uint32_t SlotOf(std::string_view key, uint32_t hash) const;
  bool HasKey(uint32_t entry, std::string_view key) const;
  void PutItem(const TableItem& item);

  char* const out_;
  const uint32_t size_;
  const uint32_t num_slots_;
  uint32_t num_keys_ = 0;
  uint32_t num_entries_ = 0;        // with those that were replaced
  uint32_t end_ = 0;                // of the entries
  std::vector<uint32_t> replaced_;  // entries that are not hidden yet
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_TABLE_WRITER_H_
