#include "server/openpmix/connection_log.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace canopy::openpmix {
namespace {

constexpr uint32_t kMagic = 0x4c504143;  // "CAPL"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 4096;
constexpr uint64_t kFirstCapacity = 256 << 10;
constexpr uint64_t kMaxCapacity = uint64_t{1} << 30;
// The room that BeginRead guarantees, in bytes: for the read, and for records
// that are added to the log in the same round.
constexpr uint64_t kReadRoom = 64 << 10;

uint64_t Padded(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

uint64_t SizeOf(std::string_view bytes) {
  return sizeof(Record) + Padded(bytes.size());
}

// Applies all records. Returns false if they are malformed.
bool ApplyAll(std::string_view records, ConnectionLogState* state) {
  while (!records.empty()) {
    Record record;
    if (records.size() < sizeof record) return false;
    std::memcpy(&record, records.data(), sizeof record);
    const uint64_t size = sizeof record + Padded(record.size);
    if (records.size() < size) return false;
    if (!state->Apply(record, records.substr(sizeof record, record.size))) {
      return false;
    }
    records.remove_prefix(size);
  }
  return true;
}

uint64_t FileSize(uint64_t capacity) { return kHeaderBytes + 2 * capacity; }

}  // namespace

struct ConnectionLog::Header {
  std::atomic<uint32_t> magic;  // 0: invalid, a record could not be written
  uint32_t version;
  uint64_t capacity;
  std::atomic<uint32_t> area;     // the active area, 0 or 1
  std::atomic<uint64_t> used[2];  // bytes of each area with valid records
};

ConnectionLog::~ConnectionLog() {
  if (base_ != nullptr) retired_files_.emplace_back(base_, FileSize(capacity_));
  for (const auto& [base, size] : retired_files_) munmap(base, size);
}

Status ConnectionLog::Map(uint64_t capacity) {
  UniqueFd fd(memfd_create("canopy-ledger", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(FileSize(capacity))) != 0) {
    return Status(kErrOutOfResource, "cannot create a connection log");
  }
  void* base = mmap(nullptr, FileSize(capacity), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "cannot map a connection log");
  }
  if (base_ != nullptr) retired_files_.emplace_back(base_, FileSize(capacity_));
  base_ = static_cast<char*>(base);
  capacity_ = capacity;
  fd_ = std::move(fd);
  header()->version = kVersion;
  header()->capacity = capacity;
  return Status();
}

Result<std::unique_ptr<ConnectionLog>> ConnectionLog::Create(
    Hooks hooks, const ConnectionLogState& state) {
  uint64_t size = 0;
  state.WriteRecords(
      [&](const Record&, std::string_view b) { size += SizeOf(b); });
  uint64_t capacity = kFirstCapacity;
  while (capacity / 2 < size && capacity < kMaxCapacity) capacity *= 2;
  std::unique_ptr<ConnectionLog> connection_log(
      new ConnectionLog(std::move(hooks)));
  if (capacity / 2 < size) {
    return Status(kErrOutOfResource, "too much for a connection log");
  }
  Status status = connection_log->Map(capacity);
  if (!status.ok()) return status;
  connection_log->WriteState(state, 0);
  connection_log->hooks_.moved(connection_log->fd_.get());
  return connection_log;
}

char* ConnectionLog::area() const {
  const uint32_t area = header()->area.load(std::memory_order_relaxed);
  return base_ + kHeaderBytes + area * capacity_;
}

uint64_t ConnectionLog::used() const {
  const uint32_t area = header()->area.load(std::memory_order_relaxed);
  return header()->used[area].load(std::memory_order_relaxed);
}

// Writes the records of the state into the area, and then makes the area
// active.
void ConnectionLog::WriteState(const ConnectionLogState& state, uint32_t area) {
  char* const begin = base_ + kHeaderBytes + area * capacity_;
  uint64_t at = 0;
  state.WriteRecords([&](Record record, std::string_view bytes) {
    record.size = static_cast<uint32_t>(bytes.size());
    std::memcpy(begin + at, &record, sizeof record);
    if (!bytes.empty()) {
      std::memcpy(begin + at + sizeof record, bytes.data(), bytes.size());
    }
    at += SizeOf(bytes);
  });
  header()->used[area].store(at, std::memory_order_relaxed);
  header()->area.store(area, std::memory_order_release);
  header()->magic.store(kMagic, std::memory_order_release);
}

void ConnectionLog::Fail() {
  ok_ = false;
  header()->magic.store(0, std::memory_order_release);
}

void ConnectionLog::Reserve(uint64_t size) {
  if (!ok_ || capacity_ - used() >= size) return;
  Rewrite(size);
}

// Compacts the log into the other area, or into a larger file. If the log was
// already compacted since the last BeginRead, a new file of the same size is
// used, because data that was read since then may still be in the other area.
void ConnectionLog::Rewrite(uint64_t size) {
  ConnectionLogState state;
  if (!ApplyAll({area(), used()}, &state)) return Fail();
  for (auto& [id, c] : state.connections) state.Sent(&c, hooks_.sent(id));
  uint64_t live = 0;
  state.WriteRecords(
      [&](const Record&, std::string_view b) { live += SizeOf(b); });
  uint64_t capacity = capacity_;
  while (capacity < kMaxCapacity && live + size > capacity / 2) capacity *= 2;
  if (live + size > capacity) return Fail();
  if (capacity == capacity_ && !std::exchange(rewritten_, true)) {
    return WriteState(state,
                      1 - header()->area.load(std::memory_order_relaxed));
  }
  if (!Map(capacity).ok()) return Fail();
  WriteState(state, 0);
  hooks_.moved(fd_.get());
}

void ConnectionLog::Append(Record record, std::string_view bytes) {
  const uint64_t at = used();
  char* const place = area() + at;
  record.size = static_cast<uint32_t>(bytes.size());
  std::memcpy(place, &record, sizeof record);
  char* const content = place + sizeof record;
  // The data of a read is already in the file, after the record.
  if (!bytes.empty() && bytes.data() != content) {
    std::memcpy(content, bytes.data(), bytes.size());
  }
  const uint32_t area = header()->area.load(std::memory_order_relaxed);
  header()->used[area].store(at + SizeOf(bytes), std::memory_order_release);
}

void ConnectionLog::Add(Record record, std::string_view bytes) {
  Reserve(SizeOf(bytes));
  if (ok_) Append(record, bytes);
}

ConnectionLog::Reservation ConnectionLog::BeginRead(uint64_t connection,
                                                    uint64_t position) {
  rewritten_ = false;
  for (const auto& [base, size] : retired_files_) munmap(base, size);
  retired_files_.clear();
  Reserve(sizeof(Record) + kReadRoom);
  rewritten_ = false;
  Record record;
  record.kind = RecordKind::kReceived;
  record.connection = connection;
  record.number = position;
  char* const place = area() + used();
  const uint64_t room = capacity_ - used();
  if (room < sizeof record + kReadRoom) {
    Fail();
    return {};
  }
  std::memcpy(place, &record, sizeof record);
  return {place + sizeof record, room - sizeof record};
}

void ConnectionLog::EndRead(size_t size) {
  if (!ok_) return;
  char* const place = area() + used();
  Record record;
  std::memcpy(&record, place, sizeof record);
  Append(record, {place + sizeof record, size});
}

// ----------------------------------------------------------------- reader ---

ConnectionLogReader::~ConnectionLogReader() {
  if (base_ != nullptr) munmap(base_, size_);
}

Result<std::unique_ptr<ConnectionLogReader>> ConnectionLogReader::Open(
    UniqueFd fd) {
  std::unique_ptr<ConnectionLogReader> reader(new ConnectionLogReader);
  struct stat info;
  if (fstat(fd.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(FileSize(kFirstCapacity)) ||
      info.st_size > static_cast<off_t>(FileSize(kMaxCapacity))) {
    return Status(kErrUnpackFailure, "not a connection log");
  }
  reader->size_ = static_cast<uint64_t>(info.st_size);
  void* base = mmap(nullptr, reader->size_, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "cannot map a connection log");
  }
  reader->base_ = static_cast<char*>(base);
  reader->fd_ = std::move(fd);
  Status status = reader->Load();
  if (!status.ok()) return status;
  return reader;
}

Status ConnectionLogReader::Load() {
  const auto& header = *reinterpret_cast<const ConnectionLog::Header*>(base_);
  const uint32_t magic = header.magic.load(std::memory_order_acquire);
  if (magic == 0) return Status(kErrNotFound, "it could not be kept");
  const uint32_t area = header.area.load(std::memory_order_acquire);
  const uint64_t capacity = header.capacity;
  if (magic != kMagic || header.version != kVersion || area > 1 ||
      capacity > kMaxCapacity || FileSize(capacity) != size_) {
    return Status(kErrUnpackFailure,
                  "the connection log is invalid or has another version");
  }
  const uint64_t used = header.used[area].load(std::memory_order_acquire);
  const std::string_view all(base_ + kHeaderBytes + area * capacity, capacity);
  if (used > capacity || !ApplyAll(all.substr(0, used), &state_)) {
    return Status(kErrUnpackFailure, "malformed connection log");
  }
  tail_ = all.substr(used);
  return Status();
}

bool ConnectionLogReader::AddUnrecorded(uint64_t connection, uint64_t size) {
  const auto it = state_.connections.find(connection);
  Record record;
  if (it == state_.connections.end() || size > tail_.size() ||
      tail_.size() - size < sizeof record) {
    return false;
  }
  std::memcpy(&record, tail_.data(), sizeof record);
  return record.kind == RecordKind::kReceived &&
         record.connection == connection &&
         record.number == it->second.received &&
         state_.Apply(record, tail_.substr(sizeof record, size));
}

}  // namespace canopy::openpmix
