#include "server/agent/persistence/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace canopy::agent {
namespace {

constexpr uint32_t kMagic = 0x4a504143;  // "CAPJ"
constexpr uint32_t kFirstVersion = 1;
constexpr uint32_t kVersion = 2;
constexpr uint64_t kFirstCapacity = 64 << 10;
constexpr uint64_t kMaxCapacity = uint64_t{16} << 30;

constexpr uint64_t Padded(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

void CopyBytes(std::string_view from, char* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

struct Journal::Header {
  uint32_t magic;
  uint32_t version;
  std::atomic<uint64_t> used;  // includes the header; later bytes are unused
};

// A record. The key follows, and then the copies. Each copy is aligned to eight
// bytes and consists of its size and `room` bytes.
struct Journal::Record {
  uint32_t key_size;
  uint32_t copies;  // 1 or 2
  uint64_t room;    // bytes for each copy; a multiple of eight
  // The lowest bit is the index of the valid copy, and the higher bits are the
  // record's order. A single store replaces both.
  std::atomic<uint64_t> state;

  static uint64_t SizeFor(uint64_t key, uint64_t value, uint32_t copies) {
    return sizeof(Record) + Padded(key) +
           copies * (sizeof(uint64_t) + Padded(value));
  }
  uint64_t size() const { return SizeFor(key_size, room, copies); }
  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {data(), key_size}; }
  uint32_t current() const { return state.load(std::memory_order_relaxed) & 1; }
  uint64_t order() const { return state.load(std::memory_order_relaxed) >> 1; }
  uint64_t* copy(uint32_t which) {
    return reinterpret_cast<uint64_t*>(data() + Padded(key_size) +
                                       which * (sizeof(uint64_t) + room));
  }
  std::string_view value() const {
    const uint64_t* from = const_cast<Record*>(this)->copy(current());
    return {reinterpret_cast<const char*>(from + 1), *from};
  }
  void Put(uint32_t which, uint64_t order, std::string_view value) {
    uint64_t* const to = copy(which);
    *to = value.size();
    CopyBytes(value, reinterpret_cast<char*>(to + 1));
    state.store(order << 1 | which, std::memory_order_release);
  }
  bool FitsIn(uint64_t bytes) const {
    return bytes >= sizeof(Record) && copies >= 1 && copies <= 2 &&
           room % 8 == 0 && room <= kMaxCapacity && size() <= bytes &&
           current() < copies && value().size() <= room;
  }
};

// A record of the first format: key, value, and padding to eight bytes.
struct Journal::FirstRecord {
  uint32_t key_size;
  uint32_t value_size;

  uint64_t size() const {
    return Padded(sizeof *this + uint64_t{key_size} + value_size);
  }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
};

Journal::Header* Journal::header() const {
  return reinterpret_cast<Header*>(base_);
}

Journal::~Journal() {
  if (base_ != nullptr) munmap(base_, capacity_);
}

Status Journal::Map(uint64_t capacity) {
  void* base =
      mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "map of a journal");
  }
  if (base_ != nullptr) munmap(base_, capacity_);
  base_ = static_cast<char*>(base);
  capacity_ = capacity;
  return Status();
}

Result<std::unique_ptr<Journal>> Journal::Create() {
  std::unique_ptr<Journal> journal(new Journal);
  journal->fd_.Reset(memfd_create("canopy-journal", MFD_CLOEXEC));
  if (!journal->fd_ || ftruncate(journal->fd_.get(), kFirstCapacity) != 0) {
    return Status(kErrOutOfResource, "memory for a journal");
  }
  Status status = journal->Map(kFirstCapacity);
  if (!status.ok()) return status;
  Header* const header = journal->header();
  header->magic = kMagic;
  header->version = kVersion;
  header->used.store(sizeof(Header), std::memory_order_release);
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::Open(UniqueFd fd) {
  std::unique_ptr<Journal> journal(new Journal);
  journal->fd_ = std::move(fd);
  struct stat info;
  if (fstat(journal->fd_.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(kFirstCapacity) ||
      static_cast<uint64_t>(info.st_size) > kMaxCapacity) {
    return Status(kErrUnpackFailure, "no journal");
  }
  Status status = journal->Map(static_cast<uint64_t>(info.st_size));
  if (!status.ok()) return status;
  const Header& header = *journal->header();
  const uint64_t used = header.used.load(std::memory_order_acquire);
  if (header.magic != kMagic || used < sizeof(Header) ||
      used > journal->capacity_ || used % 8 != 0) {
    return Status(kErrUnpackFailure, "no journal");
  }
  if (header.version == kFirstVersion) return Import(*journal);
  if (header.version != kVersion) {
    return Status(kErrUnpackFailure, "no journal of this version");
  }
  if (!journal->Load()) return Status(kErrUnpackFailure, "malformed journal");
  return journal;
}

bool Journal::Load() {
  const uint64_t used = header()->used.load(std::memory_order_acquire);
  for (uint64_t at = sizeof(Header); at < used; at += RecordAt(at)->size()) {
    const Record* record = RecordAt(at);
    if (!record->FitsIn(used - at)) return false;
    NotePlace(record, at);
    order_ = std::max(order_, record->order());
  }
  return true;
}

Result<std::unique_ptr<Journal>> Journal::Import(const Journal& first) {
  Result<std::unique_ptr<Journal>> journal = Create();
  const uint64_t used = first.header()->used.load(std::memory_order_acquire);
  for (uint64_t at = sizeof(Header); journal.ok() && at < used;) {
    const auto* record = reinterpret_cast<const FirstRecord*>(first.base_ + at);
    if (used - at < sizeof(FirstRecord) || used - at < record->size()) {
      return Status(kErrUnpackFailure, "malformed journal");
    }
    bool moved = false;
    Status status = (*journal)->Persist(
        {record->data(), record->key_size},
        {record->data() + record->key_size, record->value_size}, &moved);
    if (!status.ok()) return status;
    at += record->size();
  }
  return journal;
}

std::vector<core::PersistedRecord> Journal::Records() const {
  std::vector<const Record*> records;
  records.reserve(places_.size());
  for (const auto& [key, at] : places_) records.push_back(RecordAt(at));
  std::ranges::sort(records, {}, &Record::order);
  std::vector<core::PersistedRecord> out;
  out.reserve(records.size());
  for (const Record* record : records) {
    out.push_back(
        {std::string(record->key()), Bytes(std::string(record->value()))});
  }
  return out;
}

Status Journal::Reserve(uint64_t size) {
  const uint64_t used = header()->used.load(std::memory_order_relaxed);
  if (capacity_ - used >= size) return Status();
  uint64_t capacity = capacity_;
  while (capacity - used < size) capacity *= 2;
  if (capacity > kMaxCapacity ||
      ftruncate(fd_.get(), static_cast<off_t>(capacity)) != 0) {
    return Status(kErrOutOfResource, "no room in a job's journal");
  }
  return Map(capacity);
}

void Journal::Append(std::string_view key, std::string_view value,
                     uint32_t copies) {
  const uint64_t used = header()->used.load(std::memory_order_relaxed);
  Record* const record = RecordAt(used);
  record->key_size = static_cast<uint32_t>(key.size());
  record->copies = copies;
  record->room = Padded(value.size());
  CopyBytes(key, record->data());
  record->Put(0, ++order_, value);
  header()->used.store(used + record->size(), std::memory_order_release);
  NotePlace(record, used);
}

Journal::Record* Journal::RecordAt(uint64_t at) const {
  return reinterpret_cast<Record*>(base_ + at);
}

// Records where the last record of a key is. Offset 0 is that of the header, so
// 0 means that the key is new.
void Journal::NotePlace(const Record* record, uint64_t at) {
  uint64_t& place = places_[std::string(record->key())];
  if (place != 0) live_ -= RecordAt(place)->size();
  live_ += record->size();
  place = at;
}

// Writes all records to a new file, so that a complete journal exists at every
// moment.
Status Journal::Compact() {
  Result<std::unique_ptr<Journal>> fresh = Create();
  if (!fresh.ok()) return fresh.status();
  for (const core::PersistedRecord& record : Records()) {
    bool moved = false;
    Status status = (*fresh)->Persist(record.key, record.value.view(), &moved);
    if (!status.ok()) return status;
  }
  Journal& other = **fresh;
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(live_, other.live_);
  std::swap(order_, other.order_);
  places_.swap(other.places_);
  return Status();
}

Status Journal::Persist(std::string_view key, std::string_view value,
                        bool* moved) {
  *moved = false;
  if (key.size() > UINT32_MAX || value.size() > UINT32_MAX) {
    return Status(kErrOutOfResource, "too large for a journal");
  }
  const auto it = places_.find(key);
  Record* const previous = it == places_.end() ? nullptr : RecordAt(it->second);
  if (previous != nullptr && previous->value() == value) return Status();
  if (previous != nullptr && previous->copies > 1 &&
      value.size() <= previous->room) {
    previous->Put(1 - previous->current(), ++order_, value);
    return Status();
  }
  const uint32_t copies = previous == nullptr ? 1 : 2;
  Status status = Reserve(Record::SizeFor(key.size(), value.size(), copies));
  if (!status.ok()) return status;
  Append(key, value, copies);
  const uint64_t used = header()->used.load(std::memory_order_relaxed);
  if (used > kFirstCapacity && used > 3 * live_) *moved = Compact().ok();
  return Status();
}

}  // namespace canopy::agent
