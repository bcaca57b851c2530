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

// One thread at a time. Whatever other ranks of the job write to the file, it
// stays within its own memory.
class CommitWriter {
 public:
  // Maps the mailbox of the rank with that index among the local ranks. `fd`
  // may be closed afterwards. `sent`, which outlives this object: how many
  // commits the agent was sent by message. kErrHandshakeFailed when it is no
  // file of this layout.
  static Result<std::unique_ptr<CommitWriter>> Map(
      int fd, uint64_t size, uint32_t index, const std::atomic<uint32_t>* sent);
  ~CommitWriter();
  CommitWriter(const CommitWriter&) = delete;
  CommitWriter& operator=(const CommitWriter&) = delete;

  enum class Outcome {
    kWritten,  // the agent takes it when it needs it
    kNotify,   // the same, and the agent is to be signalled now
    kMessage,  // nothing was written: commit by message
  };
  // Writes a commit, the payload of a commit frame; only after the agent has
  // read the commits sent as messages, which preserves their order.
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
