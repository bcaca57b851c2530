// Writes the hash tables of a segment (Table in layout.h).
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

// Returns the bytes that WriteTable needs for these items; 0 if they exceed the
// maximum of a table (4 GiB).
uint64_t TableSize(const std::vector<TableItem>& items);

// Writes the table to `out`, which must have TableSize(items) bytes and be
// aligned to 8. The keys must be distinct.
void WriteTable(const std::vector<TableItem>& items, char* out);

// Returns the keys of a table, each with its valid entry, as views into the
// table. Reads at most `available` bytes.
std::vector<TableItem> ItemsOf(const char* table, uint64_t available);

// A table with free room, to which entries are added while others read it.
// Everything that the writer needs to know is kept here, not in the shared
// memory.
class GrowingTable {
 public:
  // Returns the bytes of a table of these items with room for about as many
  // more; 0 if that exceeds the maximum of a table.
  static uint64_t SizeFor(const std::vector<TableItem>& items);

  // Writes the table to `out`, which must have SizeFor(items) bytes, be aligned
  // to 8 and outlive this object. The keys must be distinct.
  GrowingTable(const std::vector<TableItem>& items, char* out);

  uint32_t size() const { return size_; }
  // Adds keys or replaces their values. A concurrent reader finds either the
  // old entry or the new one, complete. Returns false, with nothing changed, if
  // there is no room. The keys must be distinct.
  bool Put(const std::vector<TableItem>& items);
  // Hides replaced entries from readers that iterate over entries. By then such
  // a reader must be able to detect that the table has changed. Returns false
  // if no entry had to be hidden.
  bool HideReplaced();

 private:
  // Returns the index of the key's slot, or of the free slot that it would get.
  uint32_t SlotOf(std::string_view key, uint32_t hash) const;
  bool HasKey(uint32_t entry, std::string_view key) const;
  void PutItem(const TableItem& item);

  char* const out_;
  const uint32_t size_;
  const uint32_t num_slots_;
  uint32_t num_keys_ = 0;
  uint32_t num_entries_ = 0;        // including replaced entries
  uint32_t end_ = 0;                // end of the entries
  std::vector<uint32_t> replaced_;  // replaced entries that are not hidden yet
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_TABLE_WRITER_H_
