// The shared-memory form of one job on one node: a file format with one writer
// (the agent) and any number of readers (the job's processes).
// docs/shm_layout.md describes it in prose.
//
//   [0, fixed_size)          header, rows, directory, job-level tables. They
//                            are complete before the first reader gets the
//                            file; only the directory entries,
//                            versions, PIDs and reincarnation numbers change
//                            later.
//   [arena_begin, file_size) blocks of committed data, one Table per rank.
//                            Sparse: pages exist once they are written.
//
// Integers are in host byte order. Offsets count from the start of the file
// unless stated otherwise. Every structure starts at a multiple of 8.
#ifndef CANOPY_COMMON_SHM_LAYOUT_H_
#define CANOPY_COMMON_SHM_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace canopy::shm {

inline constexpr uint64_t kMagic = 0x31304d4853504e43;  // "CNPSHM01"
inline constexpr uint32_t kLayoutVersion = 1;

// A block of the arena does not cross a multiple of this. A larger block starts
// at a multiple of it. So a reader can map the arena piece by piece.
inline constexpr uint64_t kWindow = 64u << 20;
// The unit of the directory entries' offsets in the arena.
inline constexpr uint64_t kBlockAlign = 16;
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << 40;

struct Header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;
  uint64_t file_size;
  uint64_t fixed_size;
  uint64_t arena_begin;  // multiple of kWindow
  uint32_t num_ranks;
  uint32_t num_nodes;
  uint32_t num_apps;
  uint32_t self_node;       // job-relative; UINT32_MAX: no rank on this node
  uint64_t proc_rows;       // ProcRow[num_ranks]
  uint64_t node_rows;       // NodeRow[num_nodes]
  uint64_t app_rows;        // AppRow[num_apps]
  uint64_t node_ranks;      // uint32_t[num_ranks], sorted by node, rank
  uint64_t directory;       // uint64_t[num_ranks], see PackEntry
  uint64_t session_table;   // Table
  uint64_t job_table;       // Table
  uint64_t node_names;      // Table: name or alias -> uint32_t node
  uint64_t nspace;          // ValueBlob: plain characters
  uint32_t proc_id_prefix;  // ValueRef: VALUE of PMIX_PROCID up to the rank
  uint32_t flags;           // kHasNodeIds, kHasVersions
};
static_assert(sizeof(Header) == 136);

// NodeRow::id is valid. Without this flag, a node's number is its index.
inline constexpr uint32_t kHasNodeIds = 1;
// The directory is followed by uint64_t[num_ranks]: the version of each rank's
// data, for the agent's successor; 0: unknown.
inline constexpr uint32_t kHasVersions = 2;

// A reference to a ValueBlob in the fixed part: its offset / 8; 0: no value.
using ValueRef = uint32_t;

// Followed by `size` bytes.
struct ValueBlob {
  uint32_t size;
};

inline constexpr uint16_t kNoNumber = UINT16_MAX;

// The source of all reserved keys about one rank.
struct ProcRow {
  uint32_t node;
  uint32_t app;
  uint32_t app_rank;
  uint32_t global_rank;
  uint16_t local_rank;
  uint16_t node_rank;
  uint16_t package_rank;  // kNoNumber: unknown
  uint16_t flags;         // 0
  uint32_t reincarnation;
  uint32_t pid;            // 0: unknown; written when the process starts
  ValueRef cpuset;         // PMIX_CPUSET
  ValueRef cpuset_bitmap;  // PMIX_CPUSET_BITMAP
  ValueRef locality;       // PMIX_LOCALITY_STRING; only ranks of this node
  ValueRef procdir;        // PMIX_PROCDIR; only ranks of this node
};
static_assert(sizeof(ProcRow) == 48);

struct NodeRow {
  uint64_t table;       // Table of node-level keys
  uint32_t first_rank;  // index in node_ranks
  uint32_t num_ranks;
  ValueRef hostname;  // PMIX_HOSTNAME
  uint32_t id;        // PMIX_NODEID
};
static_assert(sizeof(NodeRow) == 24);

struct AppRow {
  uint64_t table;  // Table of application-level keys
};
static_assert(sizeof(AppRow) == 8);

// A hash table of keys: header, slots, entries back to back. Offsets within it
// count from the table's own start. The content does not change, except in the
// arena, where the writer may add entries if there is room, for new keys and
// for new values of keys. The writer stores the entry first, then the key's
// slot as one word, then num_entries.
struct Table {
  uint32_t size;       // bytes in total, including free room
  uint32_t num_slots;  // power of two, more than the number of keys
  uint32_t num_entries;
  uint32_t flags;  // 0
};
static_assert(sizeof(Table) == 16);

struct Slot {
  uint32_t hash;   // HashKey of the entry's key
  uint32_t entry;  // offset of the Entry; 0: the probe ends here
};
static_assert(sizeof(Slot) == 8);

// The key exists, but its scope excludes the processes of this node; the value
// is empty. A replaced entry, to which no slot refers any more, also gets this
// flag: readers that iterate over the entries skip it.
inline constexpr uint32_t kEntryOutsideScope = 1;

// Followed by the key, then the value. The next entry starts at a multiple of
// 4.
struct Entry {
  uint32_t key_size;
  uint32_t value_size;
  uint32_t flags;
};
static_assert(sizeof(Entry) == 12);

// A directory entry: the offset of a rank's table (0: none yet), whether the
// table is incomplete, and a generation that no earlier table of the rank had.
//   bits 0..35 offset / kBlockAlign, 36 incomplete, 37..63 generation
inline constexpr uint64_t kEntryOffsetMask = (uint64_t{1} << 36) - 1;
inline constexpr uint64_t kEntryIncomplete = uint64_t{1} << 36;
inline constexpr int kEntryGenerationShift = 37;

constexpr uint64_t PackEntry(uint64_t offset, bool incomplete,
                             uint64_t generation) {
  return (offset / kBlockAlign) | (incomplete ? kEntryIncomplete : 0) |
         (generation << kEntryGenerationShift);
}
constexpr uint64_t EntryOffset(uint64_t entry) {
  return (entry & kEntryOffsetMask) * kBlockAlign;
}

namespace internal {
constexpr uint64_t LoadLe(const char* p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; ++i) {
    v |= static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  }
  return v;
}
constexpr uint64_t Load64Le(const char* p) {
  const auto at = [p](int i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  };
  return at(0) | at(1) | at(2) | at(3) | at(4) | at(5) | at(6) | at(7);
}
}  // namespace internal

// Returns the hash of a key. It is part of the file format: writer and readers
// must agree on it.
constexpr uint32_t HashKey(std::string_view key) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  const char* p = key.data();
  size_t n = key.size();
  uint64_t h = n * kMultiplier;
  for (; n >= 8; n -= 8, p += 8) {
    h = (h ^ internal::Load64Le(p)) * kMultiplier;
    h ^= h >> 32;
  }
  h = (h ^ internal::LoadLe(p, n)) * kMultiplier;
  return static_cast<uint32_t>(h >> 32);
}

constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_LAYOUT_H_
