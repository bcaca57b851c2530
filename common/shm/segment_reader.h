// The read side of a job's segment (layout.h), on which PMIx_Get is based.
//
// The segment is a file that one writer, the agent, changes while any number of
// threads and processes read it without locks. The protocol is a sequence lock
// for each rank:
// - The directory has one 64-bit entry for each rank (PackEntry): the offset of
//   the rank's table in the arena and a generation, which the writer increments
//   with each change.
// - A reader loads the entry (its stamp), finds the key in the table and uses
//   the value in place. Then it loads the entry again (StillValid). If the
//   entry is unchanged, no reuse of the table's memory can have been observed,
//   and the value was correct. Otherwise the reader looks up again.
// - The writer completes a new table before it stores the entry (release), and
//   a reader loads the entry with acquire. Before the writer reuses a freed
//   block it issues a release fence, so a reader that sees new bytes also sees
//   the newer entry.
// - A table with free room grows in place: the entry of a key first, then its
//   slot as one word, so a reader finds either the old or the new value.
//
// A reader trusts no offset or size: each is loaded once and checked against
// the mapping before it is used (CheckedTable, CheckedEntry). A stale or
// damaged segment therefore yields "absent" or a wrong value that StillValid
// rejects, but never an access outside of the mapping. Values of job-level data
// are never changed and need no StillValid.
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
  kNoRoom,        // not found, and the rank has data that did not fit
};

// The result of FindProc. `value()` is a VALUE in codec form; it is valid as
// long as the reader and this object. See SegmentReader::StillValid.
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
  // The directory entry that was read; 0: not from the directory.
  uint64_t stamp_ = 0;
  std::string_view view_;
  char inline_[kInlineSize];  // value made from a row; not initialised
};

// A read-only mapping of one job's segment. Thread-safe. Look-ups neither lock
// nor allocate nor enter the kernel, except when they first touch a further
// window of the arena. A damaged segment yields "absent", never a fault.
//
// Job-level data (session, job, app, node, and what follows from a rank's
// place) never changes; its views are valid for the reader's life. Data that
// processes commit may be replaced while it is read. Its bytes stay readable,
// but may be reused after the rank commits again. So the caller decodes the
// value, then calls StillValid, and looks up again if that returns false.
// ReadProc does this.
class SegmentReader {
 public:
  // Maps `size` bytes of a segment. The descriptor is duplicated; the caller
  // keeps its own. kErrBadParam: it is not a segment that this version can
  // read; kErrOutOfResource or kErrNomem: it cannot be mapped.
  static Result<std::unique_ptr<SegmentReader>> Map(int fd, uint64_t size);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  std::string_view nspace() const { return nspace_; }
  uint32_t num_ranks() const { return header_.num_ranks; }
  uint32_t num_nodes() const { return header_.num_nodes; }
  uint32_t num_apps() const { return header_.num_apps; }
  // Returns the job-relative index of the node to which this segment belongs;
  // kNoNode if no rank of the job runs there.
  uint32_t self_node() const { return header_.self_node; }

  // Return the VALUE of a key at its level, in codec form. Return no value if
  // there is no such key, application or node.
  std::optional<std::string_view> FindSession(std::string_view key) const;
  std::optional<std::string_view> FindJob(std::string_view key) const;
  std::optional<std::string_view> FindApp(uint32_t app,
                                          std::string_view key) const;
  std::optional<std::string_view> FindNode(uint32_t node,
                                           std::string_view key) const;

  // Returns the job-relative index of the node with this name or alias.
  std::optional<uint32_t> NodeByName(std::string_view name) const;
  // Returns the job-relative index of the node with this PMIX_NODEID.
  std::optional<uint32_t> NodeById(uint32_t id) const;
  // Returns the job-relative index of a rank's node, or kNoNode if the job has
  // no such rank.
  uint32_t NodeOf(Rank rank) const;
  uint32_t AppOf(Rank rank) const;
  // Returns the ranks of the job on a node, ascending.
  std::span<const uint32_t> RanksOn(uint32_t node) const;

  // Finds a key of one process: a reserved key that follows from its place in
  // the job (PMIX_LOCAL_RANK, PMIX_HOSTNAME, PMIX_CPUSET, ...), or a committed
  // key.
  Lookup FindProc(Rank rank, std::string_view key) const;
  // Returns false if the value of `lookup` may have been overwritten meanwhile.
  bool StillValid(const Lookup& lookup) const;
  // Calls read(value) with the VALUE of a key, repeatedly until the value was
  // stable.
  template <typename Read>
  LookupState ReadProc(Rank rank, std::string_view key, Read&& read) const {
    for (;;) {
      const Lookup lookup = FindProc(rank, key);
      if (lookup.found()) read(lookup.value());
      if (StillValid(lookup)) return lookup.state();
    }
  }

  // Returns a number that changes whenever the rank's committed data changes;
  // 0: no data so far.
  uint64_t Stamp(Rank rank) const;
  // Returns the version that SegmentWriter::SetVersion has set; 0 if there is
  // none.
  uint64_t Version(Rank rank) const;
  // Calls visit(key, value) for all keys of a rank: first the reserved keys,
  // then the committed keys that this node may see. Returns false if the
  // committed data changed meanwhile; the visited values may then be wrong, and
  // the caller must visit again.
  template <typename Visit>
  bool ForEachProcKey(Rank rank, Visit&& visit) const;
  // Like ForEachProcKey, without the reserved keys.
  template <typename Visit>
  bool ForEachCommittedKey(Rank rank, Visit&& visit) const;
  // Calls visit(key, value, hidden) for the committed keys, including hidden
  // ones. Only for a caller that knows that no writer is active.
  template <typename Visit>
  void ForEachCommitted(Rank rank, Visit&& visit) const;
  // Visits all keys of the level, in the order in which they were stored.
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
  // A table whose extent was checked against its mapping. `data` is null for an
  // empty table.
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
    uint32_t next = 0;  // offset of the next entry
  };
  struct Window {
    const char* data;
    uint64_t size;
    Window* older;  // an earlier, smaller mapping, which may still be in use
  };

  SegmentReader() = default;
  Status Open(int fd, uint64_t size);
  bool CheckHeader(uint64_t size) const;
  bool InFixed(uint64_t offset, uint64_t size) const {
    return offset <= header_.fixed_size && size <= header_.fixed_size - offset;
  }
  const ProcRow* Row(Rank rank) const;
  const NodeRow* Node(uint32_t node) const;
  // Returns PMIX_NODEID; kNoNode if the job has no such node.
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
  // Calls visit(key, value) for an unchanging table, in the order of its
  // entries.
  template <typename Visit>
  static void VisitTable(const CheckedTable& table, Visit&& visit);
  // Loads the slot as one word, as it is stored; the entry to which it refers
  // was written before it.
  static Slot LoadSlot(const CheckedTable& table, uint32_t index);
  // Calls visit(entry) for each key, also while the writer adds entries.
  template <typename Visit>
  static void VisitSlots(const CheckedTable& table, Visit&& visit);
  std::string_view Blob(ValueRef ref) const;
  // Returns the bytes from `offset` in the arena to the end of the mapped
  // window: at least `size`, or an empty view.
  std::string_view Arena(uint64_t offset, uint64_t size) const;
  const Window* MapWindow(uint64_t index, uint64_t size) const;
  uint64_t LoadEntry(Rank rank) const;
  // RowKey returns the index-th reserved key. RowValue finds the value of that
  // key; it returns false if the rank has no value for the key.
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

// A replaced entry and its replacement are in different places, so an iteration
// over entries could find both or neither.
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
