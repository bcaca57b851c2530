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

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_TABLE_WRITER_H_
