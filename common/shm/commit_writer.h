// A rank's side of its job's commit mailboxes (commit_layout.h).
#ifndef CANOPY_COMMON_SHM_COMMIT_WRITER_H_
#define CANOPY_COMMON_SHM_COMMIT_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/shm/commit_layout.h"
#include "common/status.h"

namespace canopy::shm {

// Used by one thread at a time. Whatever other ranks of the job write to the
// file, this object accesses only its own memory.
class CommitWriter {
 public:
  // Maps the mailbox of the rank with this index among the local ranks. The
  // caller keeps `fd` and may close it. `sent`, which must outlive this object,
  // is the number of commits sent to the agent as messages.
  // kErrHandshakeFailed: the file is not of this layout; kErrOutOfResource: it
  // cannot be mapped.
  static Result<std::unique_ptr<CommitWriter>> Map(
      int fd, uint64_t size, uint32_t index, const std::atomic<uint32_t>* sent);
  ~CommitWriter();
  CommitWriter(const CommitWriter&) = delete;
  CommitWriter& operator=(const CommitWriter&) = delete;

  enum class Outcome {
    kWritten,  // the agent reads the commit when it needs the data
    kNotify,   // like kWritten, but the caller must signal the agent now
    kMessage,  // nothing was written: send the commit as a message
  };
  // Writes a commit, the payload of a commit frame. To preserve the order of
  // commits, returns kMessage until the agent has read all commits sent as
  // messages.
  Outcome Write(std::string_view payload);

 private:
  CommitWriter(void* control, size_t control_bytes, void* data, uint32_t index,
               const std::atomic<uint32_t>* sent);

  void* const control_;
  const size_t control_bytes_;
  char* const data_;
  CommitMailbox& mailbox_;
  const std::atomic<uint32_t>* const sent_;
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_WRITER_H_
