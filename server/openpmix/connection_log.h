// The write-ahead log of a job's OpenPMIx connections, in a memory file that
// the job's shim holds open, from which a successor recovers them.
//
// The file has a header and two areas of equal capacity. One area is active and
// contains the records, one after the other. A record becomes valid when the
// header's count of used bytes includes it. When the active area is full, the
// log is compacted: the records are replayed into a ConnectionLogState, which
// is written into the other area or into a larger file, and then that area
// becomes active.
//
// Bytes from a socket are read directly into the free part of the active area,
// behind a kReceived record that is written before the read (BeginRead). If the
// process dies after the read and before EndRead, the successor finds the bytes
// there: the kernel reports how many bytes were read (AddUnrecorded).
//
// Invariants: The records up to the count of used bytes are always complete. If
// a record cannot be written, the log is marked invalid, and nothing is
// recovered from it.
#ifndef CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_H_
#define CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/openpmix/connection_log_state.h"

namespace canopy::openpmix {

// Records survive the death of this process. Bytes are read from sockets
// directly into the file, so none are lost between the kernel and a record.
// Used by one thread.
class ConnectionLog {
 public:
  struct Hooks {
    // Returns how many bytes of a connection's answers the kernel has accepted.
    std::function<uint64_t(uint64_t connection)> sent;
    // Called when the log has moved to another file, which must be held open.
    std::function<void(int fd)> moved;
  };

  // Creates a log with the content `state`. Calls `hooks.moved` with the new
  // file before it returns. kErrOutOfResource: the file cannot be created or
  // mapped, or `state` is too large.
  static Result<std::unique_ptr<ConnectionLog>> Create(
      Hooks hooks, const ConnectionLogState& state);
  ~ConnectionLog();
  ConnectionLog(const ConnectionLog&) = delete;
  ConnectionLog& operator=(const ConnectionLog&) = delete;

  // Returns false if a record could not be written. The log is then marked
  // invalid, and nothing is recovered from it.
  bool ok() const { return ok_; }

  // Reserves space to read into, for a connection whose next byte has the
  // position `position`. Earlier reservations become invalid.
  struct Reservation {
    char* data = nullptr;
    size_t size = 0;
  };
  Reservation BeginRead(uint64_t connection, uint64_t position);
  // Records that `size` bytes were read into the last reservation.
  void EndRead(size_t size);

  // Adds a record that is followed by `bytes`. If that fails, ok() returns
  // false.
  void Add(Record record, std::string_view bytes);

 private:
  struct Header;
  friend class ConnectionLogReader;

  explicit ConnectionLog(Hooks hooks) : hooks_(std::move(hooks)) {}
  Header* header() const { return reinterpret_cast<Header*>(base_); }
  char* area() const;
  uint64_t used() const;
  Status Map(uint64_t capacity);
  // Makes room for `size` bytes by compacting the log.
  void Reserve(uint64_t size);
  void Rewrite(uint64_t size);
  void WriteState(const ConnectionLogState& state, uint32_t area);
  void Append(Record record, std::string_view bytes);
  void Fail();

  const Hooks hooks_;
  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t capacity_ = 0;  // capacity of each of the two areas
  bool ok_ = true;
  bool rewritten_ = false;  // compacted since the last BeginRead
  // Files that were replaced since the last BeginRead. They stay mapped,
  // because the data that was read may still be referenced.
  std::vector<std::pair<char*, uint64_t>> retired_files_;
};

// Reads the log of a dead process, which may be malformed.
class ConnectionLogReader {
 public:
  // Returns kErrUnpackFailure if the log is malformed, kErrNotFound if it is
  // marked invalid, and kErrOutOfResource if it cannot be mapped.
  static Result<std::unique_ptr<ConnectionLogReader>> Open(UniqueFd fd);
  ~ConnectionLogReader();
  ConnectionLogReader(const ConnectionLogReader&) = delete;
  ConnectionLogReader& operator=(const ConnectionLogReader&) = delete;

  ConnectionLogState& state() { return state_; }
  // Adds bytes that were read from a connection but not recorded. Returns false
  // if they are not in the file.
  bool AddUnrecorded(uint64_t connection, uint64_t size);

 private:
  ConnectionLogReader() = default;
  Status Load();

  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t size_ = 0;
  std::string_view tail_;  // the rest of the area, after the records
  ConnectionLogState state_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CONNECTION_LOG_H_
