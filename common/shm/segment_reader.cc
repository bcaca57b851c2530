#include "common/shm/segment_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

namespace canopy::shm {
namespace {

// Loads a number once. The compiler must not repeat the load, because another
// process may change the memory.
uint32_t Load32(const void* p) {
  return __atomic_load_n(static_cast<const uint32_t*>(p), __ATOMIC_RELAXED);
}

// Loads a number so that data that was written before the number is visible
// after the load.
uint32_t LoadAcquire32(const void* p) {
  return __atomic_load_n(static_cast<const uint32_t*>(p), __ATOMIC_ACQUIRE);
}

// Does the same as std::has_single_bit, which is a function call if the code is
// compiled also for processors without the instruction.
bool IsPowerOfTwo(uint32_t n) { return n != 0 && (n & (n - 1)) == 0; }

enum RowKeyIndex : int {
  kRank,
  kNspace,
  kProcId,
  kAppNum,
  kAppRank,
  kGlobalRank,
  kLocalRank,
  kNodeRank,
  kPackageRank,
  kReincarnation,
  kPid,
  kHostname,
  kNodeId,
  kCpuset,
  kCpusetBitmap,
  kLocality,
  kProcDir,
  kParent,
  kSpawned,
  kSessionId,
  kRowKeyCount,
};

constexpr std::array<std::string_view, kRowKeyCount> kRowKeys = {
    "pmix.rank",    "pmix.nspace", "pmix.procid",  "pmix.appnum",
    "pmix.apprank", "pmix.grank",  "pmix.lrank",   "pmix.nrank",
    "pmix.pkgrank", "pmix.reinc",  "pmix.ppid",    "pmix.hname",
    "pmix.nodeid",  "pmix.cpuset", "pmix.bitmap",  "pmix.locstr",
    "pmix.pdir",    "pmix.parent", "pmix.spawned", "pmix.session.id",
};

// The reserved keys by hash, in 64 buckets without collisions, so that an
// application's key costs a single comparison of hashes.
struct RowKeyMap {
  uint32_t hash[64] = {};
  int16_t index[64] = {};
};

constexpr RowKeyMap MakeRowKeyMap() {
  RowKeyMap map;
  for (int16_t& i : map.index) i = -1;
  for (int k = 0; k < kRowKeyCount; ++k) {
    const uint32_t hash = HashKey(kRowKeys[k]);
    uint32_t bucket = hash % 64;
    while (map.index[bucket] >= 0) bucket = (bucket + 1) % 64;
    map.hash[bucket] = hash;
    map.index[bucket] = static_cast<int16_t>(k);
  }
  return map;
}

constexpr RowKeyMap kRowKeyMap = MakeRowKeyMap();

int RowKeyIndexOf(std::string_view key, uint32_t hash) {
  for (uint32_t bucket = hash % 64; kRowKeyMap.index[bucket] >= 0;
       bucket = (bucket + 1) % 64) {
    const int index = kRowKeyMap.index[bucket];
    if (kRowKeyMap.hash[bucket] == hash && kRowKeys[index] == key) return index;
  }
  return -1;
}

// PMIx data types of the values that are made from a row.
constexpr char kTypePid = 5;
constexpr char kTypeUint16 = 13;
constexpr char kTypeUint32 = 14;
constexpr char kTypeProcRank = 40;

char* PutVarint(char* p, uint32_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = static_cast<char>(v | 0x80);
  *p++ = static_cast<char>(v);
  return p;
}

// Stands for a number that the rank does not have.
constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

Result<std::unique_ptr<SegmentReader>> SegmentReader::Map(int fd,
                                                          uint64_t size) {
  std::unique_ptr<SegmentReader> reader(new SegmentReader());
  Status status = reader->Open(fd, size);
  if (!status.ok()) return status;
  return reader;
}

Status SegmentReader::Open(int fd, uint64_t size) {
  struct stat info;
  if (size < sizeof(Header) || size > kMaxFileSize || fstat(fd, &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < size ||
      pread(fd, &header_, sizeof header_, 0) != sizeof header_ ||
      !CheckHeader(size)) {
    return Status(kErrBadParam, "not a job segment of a known layout");
  }
  fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) {
    return Status(kErrOutOfResource, "no descriptor left for a job segment");
  }
  void* p = mmap(nullptr, header_.fixed_size, PROT_READ, MAP_SHARED, fd_, 0);
  if (p == MAP_FAILED) {
    return Status(kErrOutOfResource, std::string("job segment: cannot map: ") +
                                         std::strerror(errno));
  }
  fixed_ = static_cast<const char*>(p);
  num_windows_ =
      (header_.file_size - header_.arena_begin + kWindow - 1) / kWindow;
  windows_.reset(new (std::nothrow) std::atomic<Window*>[num_windows_]());
  if (windows_ == nullptr) return Status(kErrNomem, "out of memory");
  nspace_ = Blob(static_cast<ValueRef>(header_.nspace / 8));
  session_ = FixedTable(header_.session_table);
  job_ = FixedTable(header_.job_table);
  names_ = FixedTable(header_.node_names);
  return Status();
}

bool SegmentReader::CheckHeader(uint64_t size) const {
  const Header& h = header_;
  const uint64_t directories = (h.flags & kHasVersions) != 0 ? 2 : 1;
  const auto array = [&h](uint64_t offset, uint64_t count, uint64_t element) {
    return offset % 8 == 0 && offset <= h.fixed_size &&
           count <= (h.fixed_size - offset) / element;
  };
  return h.magic == kMagic && h.version == kLayoutVersion &&
         h.header_size >= sizeof(Header) && h.file_size <= size &&
         h.fixed_size >= h.header_size && h.fixed_size <= h.arena_begin &&
         h.arena_begin <= h.file_size && h.arena_begin % kWindow == 0 &&
         array(h.proc_rows, h.num_ranks, sizeof(ProcRow)) &&
         array(h.node_rows, h.num_nodes, sizeof(NodeRow)) &&
         array(h.app_rows, h.num_apps, sizeof(AppRow)) &&
         array(h.node_ranks, h.num_ranks, sizeof(uint32_t)) &&
         array(h.directory, h.num_ranks, directories * sizeof(uint64_t));
}

SegmentReader::~SegmentReader() {
  for (uint64_t i = 0; windows_ != nullptr && i < num_windows_; ++i) {
    Window* window = windows_[i].load(std::memory_order_relaxed);
    while (window != nullptr) {
      Window* older = window->older;
      munmap(const_cast<char*>(window->data), window->size);
      delete window;
      window = older;
    }
  }
  if (fixed_ != nullptr) munmap(const_cast<char*>(fixed_), header_.fixed_size);
  if (fd_ >= 0) close(fd_);
}

const ProcRow* SegmentReader::Row(Rank rank) const {
  if (rank >= header_.num_ranks) return nullptr;
  return reinterpret_cast<const ProcRow*>(fixed_ + header_.proc_rows) + rank;
}

const NodeRow* SegmentReader::Node(uint32_t node) const {
  if (node >= header_.num_nodes) return nullptr;
  return reinterpret_cast<const NodeRow*>(fixed_ + header_.node_rows) + node;
}

SegmentReader::CheckedTable SegmentReader::AppTable(uint32_t app) const {
  if (app >= header_.num_apps) return {};
  const auto* rows = reinterpret_cast<const AppRow*>(fixed_ + header_.app_rows);
  return FixedTable(rows[app].table);
}

SegmentReader::CheckedTable SegmentReader::NodeTable(uint32_t node) const {
  const NodeRow* row = Node(node);
  return row == nullptr ? CheckedTable() : FixedTable(row->table);
}

SegmentReader::CheckedTable SegmentReader::FixedTable(uint64_t offset) const {
  if (offset == 0 || offset % 8 != 0 || !InFixed(offset, sizeof(Table))) {
    return {};
  }
  return CheckTable(fixed_ + offset, header_.fixed_size - offset);
}

SegmentReader::CheckedTable SegmentReader::CheckTable(const char* data,
                                                      uint64_t available) {
  CheckedTable table;
  table.data = data;
  table.size = Load32(data + offsetof(Table, size));
  table.num_slots = Load32(data + offsetof(Table, num_slots));
  table.num_entries = LoadAcquire32(data + offsetof(Table, num_entries));
  if (table.size > available || !IsPowerOfTwo(table.num_slots) ||
      sizeof(Table) + uint64_t{table.num_slots} * sizeof(Slot) > table.size) {
    return {};
  }
  return table;
}

SegmentReader::CheckedTable SegmentReader::ArenaTable(uint64_t entry) const {
  const uint64_t offset = EntryOffset(entry);
  if (offset == 0) return {};
  std::string_view bytes = Arena(offset, sizeof(Table));
  if (bytes.empty()) return {};
  const uint32_t size = Load32(bytes.data() + offsetof(Table, size));
  if (size > bytes.size()) bytes = Arena(offset, size);
  if (bytes.empty()) return {};
  return CheckTable(bytes.data(), bytes.size());
}

bool SegmentReader::ReadEntry(const CheckedTable& table, uint32_t offset,
                              CheckedEntry* entry) {
  if (offset % 4 != 0 || offset > table.size ||
      table.size - offset < sizeof(Entry)) {
    return false;
  }
  const char* p = table.data + offset;
  const uint64_t key_size = Load32(p + offsetof(Entry, key_size));
  const uint64_t value_size = Load32(p + offsetof(Entry, value_size));
  const uint64_t end = offset + sizeof(Entry) + key_size + value_size;
  if (end > table.size) return false;
  entry->key = std::string_view(p + sizeof(Entry), key_size);
  entry->value = std::string_view(p + sizeof(Entry) + key_size, value_size);
  entry->flags = Load32(p + offsetof(Entry, flags));
  entry->next = static_cast<uint32_t>(std::min<uint64_t>(
      RoundUp(end, 4), std::numeric_limits<uint32_t>::max()));
  return true;
}

Slot SegmentReader::LoadSlot(const CheckedTable& table, uint32_t index) {
  const char* place = table.data + sizeof(Table) + index * sizeof(Slot);
  return std::bit_cast<Slot>(__atomic_load_n(
      reinterpret_cast<const uint64_t*>(place), __ATOMIC_ACQUIRE));
}

bool SegmentReader::Find(const CheckedTable& table, std::string_view key,
                         CheckedEntry* entry) {
  if (table.data == nullptr) return false;
  const uint32_t hash = HashKey(key);
  const uint32_t mask = table.num_slots - 1;
  for (uint32_t n = 0; n < table.num_slots; ++n) {
    const Slot slot = LoadSlot(table, (hash + n) & mask);
    if (slot.entry == 0) return false;
    if (slot.hash != hash) continue;
    if (ReadEntry(table, slot.entry, entry) && entry->key == key) return true;
  }
  return false;
}

std::string_view SegmentReader::Blob(ValueRef ref) const {
  const uint64_t offset = uint64_t{ref} * 8;
  if (offset == 0 || !InFixed(offset, sizeof(ValueBlob))) return {};
  const uint32_t size = Load32(fixed_ + offset);
  if (!InFixed(offset + sizeof(ValueBlob), size)) return {};
  return std::string_view(fixed_ + offset + sizeof(ValueBlob), size);
}

std::string_view SegmentReader::Arena(uint64_t offset, uint64_t size) const {
  if (offset < header_.arena_begin || offset >= header_.file_size ||
      size > header_.file_size - offset) {
    return {};
  }
  const uint64_t in_arena = offset - header_.arena_begin;
  const uint64_t index = in_arena / kWindow;
  const uint64_t start = in_arena % kWindow;
  const Window* window = windows_[index].load(std::memory_order_acquire);
  if (window == nullptr || window->size < start + size) {
    window = MapWindow(index, start + size);
    if (window == nullptr) return {};
  }
  return std::string_view(window->data + start, window->size - start);
}

const SegmentReader::Window* SegmentReader::MapWindow(uint64_t index,
                                                      uint64_t size) const {
  const uint64_t begin = header_.arena_begin + index * kWindow;
  size = std::min(RoundUp(size, kWindow), header_.file_size - begin);
  void* p = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_,
                 static_cast<off_t>(begin));
  if (p == MAP_FAILED) return nullptr;
  auto* made = new (std::nothrow)
      Window{static_cast<const char*>(p), size,
             windows_[index].load(std::memory_order_acquire)};
  if (made == nullptr) {
    munmap(p, size);
    return nullptr;
  }
  while (!windows_[index].compare_exchange_weak(made->older, made,
                                                std::memory_order_acq_rel)) {
  }
  return made;
}

uint64_t SegmentReader::LoadEntry(Rank rank) const {
  if (rank >= header_.num_ranks) return 0;
  const auto* directory =
      reinterpret_cast<const uint64_t*>(fixed_ + header_.directory);
  return __atomic_load_n(directory + rank, __ATOMIC_ACQUIRE);
}

uint64_t SegmentReader::Stamp(Rank rank) const { return LoadEntry(rank); }

uint64_t SegmentReader::Version(Rank rank) const {
  if (rank >= header_.num_ranks || (header_.flags & kHasVersions) == 0) {
    return 0;
  }
  const auto* versions =
      reinterpret_cast<const uint64_t*>(fixed_ + header_.directory) +
      header_.num_ranks;
  return __atomic_load_n(versions + rank, __ATOMIC_ACQUIRE);
}

std::optional<std::string_view> SegmentReader::FindSession(
    std::string_view key) const {
  CheckedEntry entry;
  if (!Find(session_, key, &entry)) return std::nullopt;
  return entry.value;
}

std::optional<std::string_view> SegmentReader::FindJob(
    std::string_view key) const {
  CheckedEntry entry;
  if (!Find(job_, key, &entry)) return std::nullopt;
  return entry.value;
}

std::optional<std::string_view> SegmentReader::FindApp(
    uint32_t app, std::string_view key) const {
  CheckedEntry entry;
  if (!Find(AppTable(app), key, &entry)) return std::nullopt;
  return entry.value;
}

std::optional<std::string_view> SegmentReader::FindNode(
    uint32_t node, std::string_view key) const {
  CheckedEntry entry;
  if (!Find(NodeTable(node), key, &entry)) return std::nullopt;
  return entry.value;
}

std::optional<uint32_t> SegmentReader::NodeByName(std::string_view name) const {
  CheckedEntry entry;
  uint32_t node;
  if (!Find(names_, name, &entry) || entry.value.size() != sizeof node) {
    return std::nullopt;
  }
  std::memcpy(&node, entry.value.data(), sizeof node);
  if (node >= header_.num_nodes) return std::nullopt;
  return node;
}

uint32_t SegmentReader::IdOf(uint32_t node) const {
  const NodeRow* row = Node(node);
  if (row == nullptr) return kNoNode;
  return (header_.flags & kHasNodeIds) != 0 ? row->id : node;
}

std::optional<uint32_t> SegmentReader::NodeById(uint32_t id) const {
  for (uint32_t node = 0; node < header_.num_nodes; ++node) {
    if (IdOf(node) == id) return node;
  }
  return std::nullopt;
}

uint32_t SegmentReader::NodeOf(Rank rank) const {
  const ProcRow* row = Row(rank);
  return row == nullptr ? kNoNode : row->node;
}

uint32_t SegmentReader::AppOf(Rank rank) const {
  const ProcRow* row = Row(rank);
  return row == nullptr ? UINT32_MAX : row->app;
}

std::span<const uint32_t> SegmentReader::RanksOn(uint32_t node) const {
  const NodeRow* row = Node(node);
  if (row == nullptr || row->first_rank > header_.num_ranks ||
      row->num_ranks > header_.num_ranks - row->first_rank) {
    return {};
  }
  const auto* ranks =
      reinterpret_cast<const uint32_t*>(fixed_ + header_.node_ranks);
  return {ranks + row->first_rank, row->num_ranks};
}

Lookup SegmentReader::FindProc(Rank rank, std::string_view key) const {
  Lookup lookup;
  if (rank >= header_.num_ranks) return lookup;
  const int index = RowKeyIndexOf(key, HashKey(key));
  if (index >= 0 && RowValue(rank, index, &lookup)) return lookup;
  lookup.rank_ = rank;
  lookup.stamp_ = LoadEntry(rank);
  CheckedEntry entry;
  if (!Find(ArenaTable(lookup.stamp_), key, &entry)) {
    if ((lookup.stamp_ & kEntryIncomplete) != 0) {
      lookup.state_ = LookupState::kNoRoom;
    }
  } else if ((entry.flags & kEntryOutsideScope) != 0) {
    lookup.state_ = LookupState::kOutsideScope;
  } else {
    lookup.state_ = LookupState::kFound;
    lookup.view_ = entry.value;
  }
  return lookup;
}

bool SegmentReader::StillValid(const Lookup& lookup) const {
  if (lookup.stamp_ == 0) return true;
  AcquireFence();
  return LoadEntry(lookup.rank_) == lookup.stamp_;
}

std::string_view SegmentReader::RowKey(int index) { return kRowKeys[index]; }

bool SegmentReader::RowValue(Rank rank, int index, Lookup* lookup) const {
  const ProcRow* row = Row(rank);
  if (row == nullptr) return false;
  const auto number = [lookup](char type, uint32_t value) {
    if (value == kNone) return false;
    char* p = lookup->inline_;
    *p++ = type;
    // A PID is encoded with a type of its own, UINT32.
    if (type == kTypePid) *p++ = kTypeUint32;
    lookup->inline_size_ =
        static_cast<uint16_t>(PutVarint(p, value) - lookup->inline_);
    lookup->state_ = LookupState::kFound;
    return true;
  };
  const auto view = [lookup](std::string_view value) {
    if (value.empty()) return false;
    lookup->view_ = value;
    lookup->state_ = LookupState::kFound;
    return true;
  };
  switch (index) {
    case kRank:
      return number(kTypeProcRank, rank);
    case kAppNum:
      return number(kTypeUint32, row->app);
    case kAppRank:
      return number(kTypeProcRank, row->app_rank);
    case kGlobalRank:
      return number(kTypeProcRank, row->global_rank);
    case kLocalRank:
      return number(kTypeUint16, row->local_rank);
    case kNodeRank:
      return number(kTypeUint16, row->node_rank);
    case kPackageRank:
      return number(kTypeUint16,
                    row->package_rank == kNoNumber ? kNone : row->package_rank);
    case kReincarnation:
      return number(kTypeUint32, Load32(&row->reincarnation));
    case kPid: {
      const uint32_t pid = Load32(&row->pid);
      return number(kTypePid, pid == 0 ? kNone : pid);
    }
    case kNodeId:
      return number(kTypeUint32, IdOf(row->node));
    case kHostname: {
      const NodeRow* node = Node(row->node);
      return node != nullptr && view(Blob(node->hostname));
    }
    case kCpuset:
      return view(Blob(row->cpuset));
    case kCpusetBitmap:
      return view(Blob(row->cpuset_bitmap));
    case kLocality:
      return view(Blob(row->locality));
    case kProcDir:
      return view(Blob(row->procdir));
    case kProcId: {
      const std::string_view prefix = Blob(header_.proc_id_prefix);
      if (prefix.empty() || prefix.size() > Lookup::kInlineSize - 5) {
        return false;
      }
      std::memcpy(lookup->inline_, prefix.data(), prefix.size());
      char* end = PutVarint(lookup->inline_ + prefix.size(), rank);
      lookup->inline_size_ = static_cast<uint16_t>(end - lookup->inline_);
      lookup->state_ = LookupState::kFound;
      return true;
    }
    default:
      return view(FindJob(kRowKeys[index]).value_or(std::string_view()));
  }
}

}  // namespace canopy::shm
