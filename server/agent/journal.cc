#include "server/agent/journal.h"

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
constexpr uint32_t kVersion = 1;
constexpr uint64_t kFirstCapacity = 64 << 10;
constexpr uint64_t kMaxCapacity = uint64_t{16} << 30;

}  // namespace

struct Journal::Header {
  uint32_t magic;
  uint32_t version;
  std::atomic<uint64_t> used;  // header included; what is beyond is not there
};

struct Journal::Record {
  uint32_t key_size;
  uint32_t value_size;
  // Key, value, and what fills up eight bytes.

  uint64_t size() const {
    return (sizeof *this + uint64_t{key_size} + value_size + 7) & ~uint64_t{7};
  }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {data(), key_size}; }
  std::string_view value() const { return {data() + key_size, value_size}; }
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
  if (header.magic != kMagic || header.version != kVersion ||
      used < sizeof(Header) || used > journal->capacity_ || used % 8 != 0) {
    return Status(kErrUnpackFailure, "no journal of this version");
  }
  for (uint64_t at = sizeof(Header); at < used;) {
    const auto* record = reinterpret_cast<const Record*>(journal->base_ + at);
    if (used - at < sizeof(Record) || used - at < record->size()) {
      return Status(kErrUnpackFailure, "malformed journal");
    }
    journal->NotePlace(record, at);
    at += record->size();
  }
  return journal;
}

std::vector<core::KeptRecord> Journal::Records() const {
  std::vector<uint64_t> places;
  places.reserve(places_.size());
  for (const auto& [key, at] : places_) places.push_back(at);
  std::sort(places.begin(), places.end());
  std::vector<core::KeptRecord> out;
  out.reserve(places.size());
  for (const uint64_t at : places) {
    const auto* record = reinterpret_cast<const Record*>(base_ + at);
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

void Journal::Append(std::string_view key, std::string_view value) {
  const uint64_t used = header()->used.load(std::memory_order_relaxed);
  auto* record = reinterpret_cast<Record*>(base_ + used);
  record->key_size = static_cast<uint32_t>(key.size());
  record->value_size = static_cast<uint32_t>(value.size());
  char* data = reinterpret_cast<char*>(record + 1);
  std::memcpy(data, key.data(), key.size());
  if (!value.empty()) {
    std::memcpy(data + key.size(), value.data(), value.size());
  }
  header()->used.store(used + record->size(), std::memory_order_release);
  NotePlace(record, used);
}

const Journal::Record* Journal::RecordAt(uint64_t at) const {
  return reinterpret_cast<const Record*>(base_ + at);
}

// Place 0 is the header's.
void Journal::NotePlace(const Record* record, uint64_t at) {
  uint64_t& place = places_[std::string(record->key())];
  if (place != 0) live_ -= RecordAt(place)->size();
  live_ += record->size();
  place = at;
}

// Into a new file, so that there is a whole one at every moment.
Status Journal::Compact() {
  Result<std::unique_ptr<Journal>> fresh = Create();
  if (!fresh.ok()) return fresh.status();
  for (const core::KeptRecord& record : Records()) {
    bool moved = false;
    Status status = (*fresh)->Keep(record.key, record.value.view(), &moved);
    if (!status.ok()) return status;
  }
  Journal& other = **fresh;
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(live_, other.live_);
  places_.swap(other.places_);
  return Status();
}

Status Journal::Keep(std::string_view key, std::string_view value,
                     bool* moved) {
  *moved = false;
  if (key.size() > UINT32_MAX || value.size() > UINT32_MAX) {
    return Status(kErrOutOfResource, "too large for a journal");
  }
  if (const auto it = places_.find(std::string(key));
      it != places_.end() && RecordAt(it->second)->value() == value) {
    return Status();
  }
  Status status = Reserve(sizeof(Record) + key.size() + value.size() + 8);
  if (!status.ok()) return status;
  Append(key, value);
  const uint64_t used = header()->used.load(std::memory_order_relaxed);
  if (used > kFirstCapacity && used > 3 * live_) *moved = Compact().ok();
  return Status();
}

}  // namespace canopy::agent
