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

// A table with room for more, to which keys are added while others read it.
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
  // Adds keys that are not there yet. A reader sees each of them whole or not
  // at all. False, with nothing changed, when there is no room or one of the
  // keys is there.
  bool Add(const std::vector<TableItem>& items);

 private:
  bool Has(std::string_view key) const;
  void Link(uint32_t hash, uint32_t entry);

  char* const out_;
  const uint32_t size_;
  const uint32_t num_slots_;
  uint32_t num_entries_ = 0;
  uint32_t end_ = 0;  // of the entries
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_TABLE_WRITER_H_
