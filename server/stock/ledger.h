// The memory file in which an agent notes what passes on a job's OpenPMIx
// connections, so that whoever comes after it can go on with them. The job's
// shim keeps it open.
#ifndef CANOPY_SERVER_STOCK_LEDGER_H_
#define CANOPY_SERVER_STOCK_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/stock/ledger_state.h"

namespace canopy::stock {

// What is written is there for whoever opens the file, however this process
// ends. Bytes are read from sockets straight into it, so none are lost between
// the kernel and a record. One thread.
class Ledger {
 public:
  struct Hooks {
    // How many bytes of a connection's answers the kernel has taken.
    std::function<uint64_t(uint64_t connection)> sent;
    // The file is another one from now on: somebody must keep it open.
    std::function<void(int fd)> moved;
  };

  // The new file is told to `hooks.moved` before this returns. `state` is what
  // it begins with.
  static Result<std::unique_ptr<Ledger>> Create(Hooks hooks,
                                                const LedgerState& state);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // False once something could not be kept: then nothing can be gone on with,
  // and the file says so.
  bool ok() const { return ok_; }

  // Room to read into, for a connection whose next byte has that position. What
  // was received before into this ledger is not used any more.
  struct Room {
    char* data = nullptr;
    size_t size = 0;
  };
  Room BeginRead(uint64_t connection, uint64_t position);
  // So many bytes were read.
  void EndRead(size_t size);

  void Add(Record record, std::string_view bytes);

 private:
  struct Header;
  friend class LedgerReader;

  explicit Ledger(Hooks hooks) : hooks_(std::move(hooks)) {}
  Header* header() const { return reinterpret_cast<Header*>(base_); }
  char* area() const;
  uint64_t used() const;
  Status Map(uint64_t capacity);
  // Makes room for so many bytes by leaving out what is over.
  void Reserve(uint64_t size);
  void Rewrite(uint64_t size);
  void Give(const LedgerState& state, uint32_t area);
  void Append(Record record, std::string_view bytes);
  void Fail();

  const Hooks hooks_;
  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t capacity_ = 0;  // of each of the two areas
  bool ok_ = true;
  bool rewritten_ = false;  // since the last BeginRead
  // Files left since then: what was read may still be looked at.
  std::vector<std::pair<char*, uint64_t>> left_;
};

// Reads the file of a process that is gone, which is not trusted to be
// well-formed.
class LedgerReader {
 public:
  // kErrUnpackFailure, or kErrNotFound when its writer gave up.
  static Result<std::unique_ptr<LedgerReader>> Open(UniqueFd fd);
  ~LedgerReader();
  LedgerReader(const LedgerReader&) = delete;
  LedgerReader& operator=(const LedgerReader&) = delete;

  LedgerState& state() { return state_; }
  // Adds bytes that were read from a connection and not recorded any more.
  // False when they are not there.
  bool AddUnrecorded(uint64_t connection, uint64_t size);

 private:
  LedgerReader() = default;
  Status Load();

  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t size_ = 0;
  std::string_view tail_;  // of the area, behind the records
  LedgerState state_;
};

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_LEDGER_H_
