// Records of one job that outlive the agent, in a memory file that the job's
// shim holds open.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_JOURNAL_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/core/step/persisted_state.h"

namespace canopy::agent {

// A log in which a later record of a key replaces the earlier one. A record
// survives the death of this process once Persist has returned. Used by one
// thread.
//
// A record that replaces another has room for two values, which are used
// alternately. So a job that keeps replacing the same records touches no new
// memory.
class Journal {
 public:
  // Creates an empty journal. Returns kErrOutOfResource if memory is exhausted.
  static Result<std::unique_ptr<Journal>> Create();
  // Opens another process's journal. Returns kErrUnpackFailure if it is
  // malformed, and kErrOutOfResource if it cannot be mapped or copied. A
  // journal of the first format is copied, so fd() is another file.
  static Result<std::unique_ptr<Journal>> Open(UniqueFd fd);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  int fd() const { return fd_.get(); }
  // Returns the last record of each key, oldest first.
  std::vector<core::PersistedRecord> Records() const;

  // Writes a value unless it is unchanged. Returns kErrOutOfResource if there
  // is no room for it. Sets *moved to true if the journal is in another file
  // from now on.
  Status Persist(std::string_view key, std::string_view value, bool* moved);

 private:
  struct Header;
  struct Record;
  struct FirstRecord;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };

  Journal() = default;
  Status Map(uint64_t capacity);
  Status Reserve(uint64_t size);
  Status Compact();
  // Finds all records of the mapped file. Returns false if the file is
  // malformed.
  bool Load();
  static Result<std::unique_ptr<Journal>> Import(const Journal& first);
  void Append(std::string_view key, std::string_view value, uint32_t copies);
  Header* header() const;
  Record* RecordAt(uint64_t at) const;
  void NotePlace(const Record* record, uint64_t at);

  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t live_ = 0;   // bytes of current records
  uint64_t order_ = 0;  // order of the last record
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> places_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_JOURNAL_H_
