// Read side of a job's segment (layout.h): what PMIx_Get is made of.
#ifndef CANOPY_COMMON_SHM_SEGMENT_READER_H_
#define CANOPY_COMMON_SHM_SEGMENT_READER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/shm/fence.h"
#include "common/shm/layout.h"
#include "common/status.h"

namespace canopy::shm {

enum class LookupState : uint8_t {
  kAbsent,
  kFound,
  kOutsideScope,  // committed, but not for processes of this node
  kNoRoom,        // not there, and the rank has data that did not fit
};

// What FindProc found. `value()` is a VALUE in codec form; it lives as long as
// the reader and this object. See SegmentReader::StillValid.
class Lookup {
 public:
  LookupState state() const { return state_; }
  bool found() const { return state_ == LookupState::kFound; }
  std::string_view value() const {
    return inline_size_ != 0 ? std::string_view(inline_, inline_size_) : view_;
  }

 private:
  friend class SegmentReader;
  static constexpr size_t kInlineSize = 288;

  LookupState state_ = LookupState::kAbsent;
  uint16_t inline_size_ = 0;
  Rank rank_ = kRankInvalid;
  uint64_t stamp_ = 0;  // directory entry that was read; 0: not from there
  std::string_view view_;
  char inline_[kInlineSize];  // values made from a row; not initialised
};

// A read-only mapping of one job's segment. Thread-safe: any number of threads
// may call anything. Look-ups do not lock, allocate or enter the kernel, except
// for the first touch of a further window of the arena. A damaged segment
// gives "absent", never a fault.
//
// Job-level data (session, job, app, node, and what follows from a rank's
// place) never changes: those views are good for the reader's life. Data that
// processes commit is replaced while others read. The bytes stay readable, but
// after the rank committed again they may be reused; so decode the value, then
// ask StillValid, and look up again when it says no. ReadProc does that.
class SegmentReader {
 public:
  // Maps `size` bytes of a segment. The descriptor is duplicated; the caller
  // keeps its own. kErrBadParam when it is not a segment that this version
  // can read, kErrOutOfResource when it can not be mapped.
  static Result<std::unique_ptr<SegmentReader>> Map(int fd, uint64_t size);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  std::string_view nspace() const { return nspace_; }
  uint32_t num_ranks() const { return header_.num_ranks; }
  uint32_t num_nodes() const { return header_.num_nodes; }
  uint32_t num_apps() const { return header_.num_apps; }
  // Job-relative index of the node that this segment lives on; kNoNode when
  // no rank of the job runs there.
  uint32_t self_node() const { return header_.self_node; }

  // VALUEs in codec form.
  std::optional<std::string_view> FindSession(std::string_view key) const;
  std::optional<std::string_view> FindJob(std::string_view key) const;
  std::optional<std::string_view> FindApp(uint32_t app,
                                          std::string_view key) const;
  std::optional<std::string_view> FindNode(uint32_t node,
                                           std::string_view key) const;

  // Job-relative index of the node with this name or alias.
  std::optional<uint32_t> NodeByName(std::string_view name) const;
  // That of the node with this PMIX_NODEID.
  std::optional<uint32_t> NodeById(uint32_t id) const;
  // kNoNode for a rank that the job does not have.
  uint32_t NodeOf(Rank rank) const;
  uint32_t AppOf(Rank rank) const;
  // Ranks of the job on a node, ascending.
  std::span<const uint32_t> RanksOn(uint32_t node) const;

  // A key of one process: reserved keys that follow from its place in the job
  // (PMIX_LOCAL_RANK, PMIX_HOSTNAME, PMIX_CPUSET, ...) and what it committed.
  Lookup FindProc(Rank rank, std::string_view key) const;
  // False when the value of `lookup` may have been overwritten meanwhile.
  bool StillValid(const Lookup& lookup) const;
  // Calls read(value) with the VALUE of a key until it saw a stable one.
  template <typename Read>
  LookupState ReadProc(Rank rank, std::string_view key, Read&& read) const {
    for (;;) {
      const Lookup lookup = FindProc(rank, key);
      if (lookup.found()) read(lookup.value());
      if (StillValid(lookup)) return lookup.state();
    }
  }

  // Changes whenever a rank's committed data is replaced; 0: none so far.
  uint64_t Stamp(Rank rank) const;
  // Calls visit(key, value) for all keys of a rank: reserved ones first, then
  // what it committed and this node may see. False when the committed part
  // was replaced meanwhile: what was visited may be wrong, visit again.
  template <typename Visit>
  bool ForEachProcKey(Rank rank, Visit&& visit) const;
  // The same without the reserved ones.
  template <typename Visit>
  bool ForEachCommittedKey(Rank rank, Visit&& visit) const;
  // Only what it committed, hidden keys included: visit(key, value, hidden).
  // For one who is alone with the segment.
  template <typename Visit>
  void ForEachCommitted(Rank rank, Visit&& visit) const;
  // All keys of the level, in the order in which they were stored.
  template <typename Visit>
  void ForEachSessionKey(Visit&& visit) const {
    VisitTable(session_, visit);
  }
  template <typename Visit>
  void ForEachJobKey(Visit&& visit) const {
    VisitTable(job_, visit);
  }
  template <typename Visit>
  void ForEachAppKey(uint32_t app, Visit&& visit) const {
    VisitTable(AppTable(app), visit);
  }
  template <typename Visit>
  void ForEachNodeKey(uint32_t node, Visit&& visit) const {
    VisitTable(NodeTable(node), visit);
  }

 private:
  // A table whose extent was checked against its mapping. Null: empty.
  struct CheckedTable {
    const char* data = nullptr;
    uint32_t size = 0;
    uint32_t num_slots = 0;
    uint32_t num_entries = 0;
  };
  struct CheckedEntry {
    std::string_view key;
    std::string_view value;
    uint32_t flags = 0;
    uint32_t next = 0;  // offset of the entry after it
  };
  struct Window {
    const char* data;
    uint64_t size;
    Window* older;  // replaced, but somebody may still look at it
  };

  SegmentReader() = default;
  Status Open(int fd, uint64_t size);
  bool CheckHeader(uint64_t size) const;
  bool InFixed(uint64_t offset, uint64_t size) const {
    return offset <= header_.fixed_size && size <= header_.fixed_size - offset;
  }
  const ProcRow* Row(Rank rank) const;
  const NodeRow* Node(uint32_t node) const;
  // PMIX_NODEID; kNoNode for a node that the job does not have.
  uint32_t IdOf(uint32_t node) const;
  CheckedTable AppTable(uint32_t app) const;
  CheckedTable NodeTable(uint32_t node) const;
  CheckedTable FixedTable(uint64_t offset) const;
  CheckedTable ArenaTable(uint64_t directory_entry) const;
  static CheckedTable CheckTable(const char* data, uint64_t available);
  static bool ReadEntry(const CheckedTable& table, uint32_t offset,
                        CheckedEntry* entry);
  static bool Find(const CheckedTable& table, std::string_view key,
                   CheckedEntry* entry);
  // Of a table that does not change: visit(key, value) in the order of its
  // entries.
  template <typename Visit>
  static void VisitTable(const CheckedTable& table, Visit&& visit);
  // In one piece, as it is stored; what it leads to was written before it.
  static Slot LoadSlot(const CheckedTable& table, uint32_t index);
  // visit(entry) for each key, whatever a writer puts meanwhile.
  template <typename Visit>
  static void VisitSlots(const CheckedTable& table, Visit&& visit);
  std::string_view Blob(ValueRef ref) const;
  // Bytes from `offset` of the arena to the end of what is mapped there; at
  // least `size`, or empty.
  std::string_view Arena(uint64_t offset, uint64_t size) const;
  const Window* MapWindow(uint64_t index, uint64_t size) const;
  uint64_t LoadEntry(Rank rank) const;
  // The index-th reserved key; false when this rank has no value for it.
  static constexpr int kNumRowKeys = 20;
  static std::string_view RowKey(int index);
  bool RowValue(Rank rank, int index, Lookup* lookup) const;

  int fd_ = -1;
  const char* fixed_ = nullptr;
  Header header_{};  // a copy, checked once
  std::string_view nspace_;
  CheckedTable session_;
  CheckedTable job_;
  CheckedTable names_;
  uint64_t num_windows_ = 0;
  std::unique_ptr<std::atomic<Window*>[]> windows_;
};

template <typename Visit>
void SegmentReader::VisitTable(const CheckedTable& table, Visit&& visit) {
  uint32_t offset = static_cast<uint32_t>(
      sizeof(Table) + uint64_t{table.num_slots} * sizeof(Slot));
  CheckedEntry entry;
  for (uint32_t i = 0; i < table.num_entries; ++i, offset = entry.next) {
    if (!ReadEntry(table, offset, &entry)) return;
    if ((entry.flags & kEntryOutsideScope) == 0) visit(entry.key, entry.value);
  }
}

// A replaced entry and the one in its place lie apart, so whoever walks from
// entry to entry may meet both or neither.
template <typename Visit>
void SegmentReader::VisitSlots(const CheckedTable& table, Visit&& visit) {
  CheckedEntry entry;
  for (uint32_t i = 0; i < table.num_slots; ++i) {
    const uint32_t offset = LoadSlot(table, i).entry;
    if (offset != 0 && ReadEntry(table, offset, &entry)) visit(entry);
  }
}

template <typename Visit>
void SegmentReader::ForEachCommitted(Rank rank, Visit&& visit) const {
  VisitSlots(ArenaTable(LoadEntry(rank)), [&](const CheckedEntry& entry) {
    visit(entry.key, entry.value, (entry.flags & kEntryOutsideScope) != 0);
  });
}

template <typename Visit>
bool SegmentReader::ForEachProcKey(Rank rank, Visit&& visit) const {
  for (int i = 0; i < kNumRowKeys; ++i) {
    Lookup lookup;
    if (RowValue(rank, i, &lookup)) visit(RowKey(i), lookup.value());
  }
  return ForEachCommittedKey(rank, visit);
}

template <typename Visit>
bool SegmentReader::ForEachCommittedKey(Rank rank, Visit&& visit) const {
  const uint64_t stamp = LoadEntry(rank);
  VisitSlots(ArenaTable(stamp), [&](const CheckedEntry& entry) {
    if ((entry.flags & kEntryOutsideScope) == 0) visit(entry.key, entry.value);
  });
  AcquireFence();
  return LoadEntry(rank) == stamp;
}

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_SEGMENT_READER_H_
