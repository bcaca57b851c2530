#include "common/shm/segment_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "common/shm/fence.h"
#include "common/shm/memory_file.h"

namespace canopy::shm {
namespace {

// Missing in older kernel headers.
constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE

uint64_t PageUp(uint64_t size) {
  return RoundUp(size, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

Status SystemError(const char* what) {
  if (errno == EMFILE || errno == ENFILE) {
    return Status(kErrSysLimitsFiles,
                  "no descriptor is left for the job's data; raise the agent's "
                  "limit on open files (ulimit -n), or run fewer jobs at once");
  }
  return Status(kErrOutOfResource, std::string("job segment: ") + what + ": " +
                                       std::strerror(errno));
}

// Lays out the fixed part of a segment in a buffer.
class FixedPart {
 public:
  FixedPart() : bytes_(RoundUp(sizeof(Header), 8), '\0') {}

  std::optional<std::string> Build(const SegmentContents& contents);

 private:
  uint64_t Reserve(uint64_t size) {
    const uint64_t offset = bytes_.size();
    bytes_.resize(RoundUp(offset + size, 8));
    return offset;
  }
  template <typename T>
  void Put(uint64_t offset, const T& value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  ValueRef AddBlob(const std::string& text);
  uint64_t AddTable(const std::vector<TableItem>& items);
  uint64_t AddTable(const KeyValues& keys);
  uint64_t AddNodeNames(const std::vector<NodeContents>& nodes);
  void AddNodes(const SegmentContents& contents);
  void AddApps(const SegmentContents& contents);
  void AddProcs(const SegmentContents& contents);

  Header header_{};
  std::string bytes_;
  std::unordered_map<std::string, ValueRef> blobs_;
  bool ok_ = true;
};

ValueRef FixedPart::AddBlob(const std::string& text) {
  if (text.empty()) return 0;
  const auto [it, added] = blobs_.try_emplace(text, 0);
  if (added) {
    const uint64_t offset = Reserve(sizeof(ValueBlob) + text.size());
    if (offset / 8 > UINT32_MAX) ok_ = false;
    Put(offset, ValueBlob{static_cast<uint32_t>(text.size())});
    std::memcpy(bytes_.data() + offset + sizeof(ValueBlob), text.data(),
                text.size());
    it->second = static_cast<ValueRef>(offset / 8);
  }
  return it->second;
}

uint64_t FixedPart::AddTable(const std::vector<TableItem>& items) {
  const uint64_t size = TableSize(items);
  if (size == 0) {
    ok_ = false;
    return 0;
  }
  const uint64_t offset = Reserve(size);
  WriteTable(items, bytes_.data() + offset);
  return offset;
}

uint64_t FixedPart::AddTable(const KeyValues& keys) {
  std::vector<TableItem> items;
  items.reserve(keys.size());
  for (const auto& [key, value] : keys) items.push_back({key, value, 0});
  return AddTable(items);
}

uint64_t FixedPart::AddNodeNames(const std::vector<NodeContents>& nodes) {
  std::map<std::string_view, uint32_t> index;
  for (uint32_t n = 0; n < nodes.size(); ++n) index.emplace(nodes[n].name, n);
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    for (const std::string& alias : nodes[n].aliases) index.emplace(alias, n);
  }
  std::vector<TableItem> items;
  for (const auto& [name, node] : index) {
    items.push_back(
        {name, {reinterpret_cast<const char*>(&node), sizeof node}, 0});
  }
  return AddTable(items);
}

void FixedPart::AddNodes(const SegmentContents& contents) {
  std::vector<std::vector<uint32_t>> ranks(contents.nodes.size());
  for (uint32_t r = 0; r < contents.procs.size(); ++r) {
    ranks[contents.procs[r].node].push_back(r);
  }
  header_.node_ranks = Reserve(contents.procs.size() * sizeof(uint32_t));
  header_.node_rows = Reserve(contents.nodes.size() * sizeof(NodeRow));
  uint32_t first = 0;
  for (uint32_t n = 0; n < contents.nodes.size(); ++n) {
    NodeRow row{};
    row.first_rank = first;
    for (const uint32_t rank : ranks[n]) {
      Put(header_.node_ranks + first++ * sizeof rank, rank);
    }
    row.num_ranks = first - row.first_rank;
    row.hostname = AddBlob(contents.nodes[n].hostname);
    row.id = contents.nodes[n].id;
    row.table = AddTable(contents.nodes[n].keys);
    Put(header_.node_rows + n * sizeof row, row);
  }
}

void FixedPart::AddApps(const SegmentContents& contents) {
  header_.app_rows = Reserve(contents.apps.size() * sizeof(AppRow));
  for (size_t a = 0; a < contents.apps.size(); ++a) {
    const AppRow row{AddTable(contents.apps[a])};
    Put(header_.app_rows + a * sizeof row, row);
  }
}

void FixedPart::AddProcs(const SegmentContents& contents) {
  header_.directory = Reserve(contents.procs.size() * 2 * sizeof(uint64_t));
  header_.proc_rows = Reserve(contents.procs.size() * sizeof(ProcRow));
  for (size_t r = 0; r < contents.procs.size(); ++r) {
    const ProcContents& proc = contents.procs[r];
    ProcRow row{};
    row.node = proc.node;
    row.app = proc.app;
    row.app_rank = proc.app_rank;
    row.global_rank = proc.global_rank;
    row.local_rank = proc.local_rank;
    row.node_rank = proc.node_rank;
    row.package_rank = proc.package_rank;
    row.reincarnation = proc.reincarnation;
    row.cpuset = AddBlob(proc.cpuset);
    row.cpuset_bitmap = AddBlob(proc.cpuset_bitmap);
    row.locality = AddBlob(proc.locality);
    row.procdir = AddBlob(proc.procdir);
    Put(header_.proc_rows + r * sizeof row, row);
  }
}

std::optional<std::string> FixedPart::Build(const SegmentContents& contents) {
  AddProcs(contents);
  AddNodes(contents);
  AddApps(contents);
  header_.session_table = AddTable(contents.session);
  header_.job_table = AddTable(contents.job);
  header_.node_names = AddNodeNames(contents.nodes);
  header_.nspace = uint64_t{AddBlob(contents.nspace)} * 8;
  header_.proc_id_prefix = AddBlob(contents.proc_id_prefix);
  header_.magic = kMagic;
  header_.version = kLayoutVersion;
  header_.header_size = sizeof(Header);
  header_.fixed_size = bytes_.size();
  header_.num_ranks = static_cast<uint32_t>(contents.procs.size());
  header_.num_nodes = static_cast<uint32_t>(contents.nodes.size());
  header_.num_apps = static_cast<uint32_t>(contents.apps.size());
  header_.self_node = contents.self_node;
  header_.flags = kHasNodeIds | kHasVersions;
  Put(0, header_);
  if (!ok_) return std::nullopt;
  return std::move(bytes_);
}

bool Seal(int fd) {
  const int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW;
  if (fcntl(fd, F_ADD_SEALS, fixed_size | kSealFutureWrite) != 0 &&
      (errno != EINVAL || fcntl(fd, F_ADD_SEALS, fixed_size) != 0)) {
    return false;
  }
  return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) == 0;
}

// Returns the largest file size, up to `wanted`, that this process may make.
uint64_t AllowedFileSize(uint64_t wanted) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    wanted = std::min<uint64_t>(wanted, limit.rlim_cur);
  }
  return std::min(wanted, kMaxFileSize);
}

bool WriteAll(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pwrite(fd, bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// Sizes and maps the file with as much of `arena` as can be mapped. The seals
// that follow prevent any later writable mapping.
char* SizeAndMap(int fd, uint64_t arena_begin, uint64_t arena, uint64_t* size) {
  *size = AllowedFileSize(arena_begin + arena);
  if (*size < arena_begin + kWindow) {
    errno = EFBIG;
    return nullptr;
  }
  for (;;) {
    if (ftruncate(fd, static_cast<off_t>(*size)) != 0) return nullptr;
    void* p = mmap(nullptr, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) {
      madvise(p, *size, MADV_DONTDUMP);
      return static_cast<char*>(p);
    }
    const uint64_t arena_now = *size - arena_begin;
    if (errno != ENOMEM || arena_now <= kWindow) return nullptr;
    *size = arena_begin + std::max(PageUp(arena_now / 2), kWindow);
  }
}

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(
    const SegmentContents& contents, const SegmentLimits& limits) {
  for (const ProcContents& proc : contents.procs) {
    if (proc.node >= contents.nodes.size() ||
        proc.app >= contents.apps.size()) {
      return Status(kErrBadParam, "job segment: rank without node or app");
    }
  }
  std::optional<std::string> fixed = FixedPart().Build(contents);
  if (!fixed || PageUp(fixed->size()) > limits.memory_budget) {
    return Status(kErrOutOfResource,
                  "job segment: job data exceeds the memory budget");
  }
  Header header;
  std::memcpy(&header, fixed->data(), sizeof header);
  const uint64_t arena_begin = RoundUp(fixed->size(), kWindow);
  UniqueFd fd = CreateMemoryFile("canopy-job");
  if (!fd) return SystemError("memfd_create");
  uint64_t size = 0;
  char* base = SizeAndMap(
      fd.get(), arena_begin,
      RoundUp(std::max(limits.arena_bytes, kWindow), kWindow), &size);
  if (base == nullptr) return SystemError("map");
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(
      size - arena_begin, limits.memory_budget - PageUp(fixed->size())));
  writer->fd_ = std::move(fd);
  writer->base_ = base;
  writer->size_ = size;
  writer->fixed_used_ = PageUp(fixed->size());
  writer->arena_begin_ = arena_begin;
  writer->directory_ = header.directory;
  writer->proc_rows_ = header.proc_rows;
  writer->num_ranks_ = header.num_ranks;
  header.arena_begin = arena_begin;
  header.file_size = size;
  std::memcpy(fixed->data(), &header, sizeof header);
  if (!WriteAll(writer->fd(), *fixed)) return SystemError("write");
  if (!Seal(writer->fd())) return SystemError("seal");
  return writer;
}

SegmentWriter::~SegmentWriter() {
  if (base_ != nullptr) munmap(base_, size_);
}

uint64_t* SegmentWriter::DirectoryEntry(Rank rank) {
  return reinterpret_cast<uint64_t*>(base_ + directory_) + rank;
}

ProcRow* SegmentWriter::Row(Rank rank) {
  return reinterpret_cast<ProcRow*>(base_ + proc_rows_) + rank;
}

void SegmentWriter::Store(Rank rank, uint64_t offset, bool incomplete) {
  uint64_t* entry = DirectoryEntry(rank);
  const uint64_t generation = (*entry >> kEntryGenerationShift) + 1;
  __atomic_store_n(entry, PackEntry(offset, incomplete, generation),
                   __ATOMIC_RELEASE);
}

Status SegmentWriter::NoRoom(Rank rank) {
  Store(rank, EntryOffset(*DirectoryEntry(rank)), true);
  return Status(kErrOutOfResource,
                "committed data exceeds the job's memory budget");
}

void SegmentWriter::Replace(Rank rank, uint64_t block) {
  const uint64_t old_offset = EntryOffset(*DirectoryEntry(rank));
  Store(rank, arena_begin_ + block, false);
  if (old_offset == 0) return;
  Table old;
  std::memcpy(&old, base_ + old_offset, sizeof old);
  arena_.Free(old_offset - arena_begin_, old.size);
}

Status SegmentWriter::Publish(Rank rank, const std::vector<TableItem>& items) {
  if (rank >= num_ranks_) {
    return Status(kErrBadParam, "job segment: no such rank");
  }
  const uint64_t size = TableSize(items);
  const uint64_t block = size == 0 ? Arena::kNoBlock : arena_.Allocate(size);
  if (block == Arena::kNoBlock) return NoRoom(rank);
  // The block may have held a table that is still being read. Its readers must
  // see that the rank's entry has changed before they see other bytes.
  ReleaseFence();
  WriteTable(items, base_ + arena_begin_ + block);
  growing_.erase(rank);
  Replace(rank, block);
  return Status();
}

bool SegmentWriter::PutIntoTable(Rank rank,
                                 const std::vector<TableItem>& items) {
  const auto it = growing_.find(rank);
  if (it == growing_.end() || !it->second.Put(items)) return false;
  const uint64_t offset = EntryOffset(*DirectoryEntry(rank));
  Store(rank, offset, false);
  // A reader that iterates over the table and misses a hidden entry must see
  // that the table has changed. The second store makes a reader that began
  // between the two stores iterate again.
  ReleaseFence();
  if (it->second.HideReplaced()) Store(rank, offset, false);
  return true;
}

Status SegmentWriter::Update(Rank rank, const std::vector<TableItem>& items) {
  if (rank >= num_ranks_ || EntryOffset(*DirectoryEntry(rank)) == 0) {
    return Publish(rank, items);
  }
  if (PutIntoTable(rank, items)) return Status();
  std::vector<TableItem> all = Others(rank, items);
  all.insert(all.end(), items.begin(), items.end());
  const uint64_t size = GrowingTable::SizeFor(all);
  const uint64_t block = size == 0 ? Arena::kNoBlock : arena_.Allocate(size);
  if (block == Arena::kNoBlock) return Publish(rank, all);
  ReleaseFence();
  growing_.erase(rank);
  growing_.try_emplace(rank, all, base_ + arena_begin_ + block);
  Replace(rank, block);
  return Status();
}

std::vector<TableItem> SegmentWriter::Others(
    Rank rank, const std::vector<TableItem>& items) {
  std::unordered_set<std::string_view> replaced;
  for (const TableItem& item : items) replaced.insert(item.key);
  const uint64_t offset = EntryOffset(*DirectoryEntry(rank));
  std::vector<TableItem> others = ItemsOf(base_ + offset, size_ - offset);
  std::erase_if(others, [&](const TableItem& item) {
    return replaced.contains(item.key);
  });
  return others;
}

void SegmentWriter::SetVersion(Rank rank, uint64_t version) {
  if (rank >= num_ranks_) return;
  __atomic_store_n(DirectoryEntry(num_ranks_) + rank, version,
                   __ATOMIC_RELEASE);
}

void SegmentWriter::SetPid(Rank rank, uint32_t pid) {
  if (rank >= num_ranks_) return;
  __atomic_store_n(&Row(rank)->pid, pid, __ATOMIC_RELAXED);
}

void SegmentWriter::SetReincarnation(Rank rank, uint32_t number) {
  if (rank >= num_ranks_) return;
  __atomic_store_n(&Row(rank)->reincarnation, number, __ATOMIC_RELAXED);
}

}  // namespace canopy::shm
