// The agent's side of a job's commit mailboxes (commit_layout.h).
#ifndef CANOPY_COMMON_SHM_COMMIT_READER_H_
#define CANOPY_COMMON_SHM_COMMIT_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/shm/commit_layout.h"
#include "common/status.h"

namespace canopy::shm {

// Owns the file. One thread. Trusts nothing that ranks write: the content of a
// mailbox is copied, bounded and left to the caller to validate.
class CommitReader {
 public:
  // Mailboxes for `num_mailboxes` (1 to kMaxCommitMailboxes) local ranks,
  // empty.
  static Result<std::unique_ptr<CommitReader>> Create(uint32_t num_mailboxes);
  // Those of a predecessor, with what it has not taken. kErrBadParam when it is
  // no such file.
  static Result<std::unique_ptr<CommitReader>> Open(UniqueFd fd,
                                                    uint32_t num_mailboxes);
  ~CommitReader();
  CommitReader(const CommitReader&) = delete;
  CommitReader& operator=(const CommitReader&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return CommitFileBytes(num_mailboxes_); }
  uint32_t num_mailboxes() const { return num_mailboxes_; }

  enum class Found {
    kNothing,
    kCommits,    // whole records, as far as their rank says
    kCorrupted,  // its mailbox is corrupted and not read any more
  };
  // Copies what a rank has left since the last call into `bytes`. All calls
  // between two of Release copy no more than one mailbox holds.
  Found Take(uint32_t index, std::string* bytes);
  // What was taken so far has been persisted, and its space may be reused.
  // Until then a successor would find it again.
  void Release();
  // That mailbox is not read any more.
  void MarkCorrupted(uint32_t index) { corrupted_[index] = true; }

  // Requests a signal for the rank's next commit, until the next Take; call
  // Take after it.
  void Ask(uint32_t index);
  // How many commits were read from the rank that came by message.
  void SetMessages(uint32_t index, uint32_t messages);

 private:
  CommitReader(UniqueFd fd, void* base, uint32_t num_mailboxes);
  static Result<std::unique_ptr<CommitReader>> Map(UniqueFd fd,
                                                   uint32_t num_mailboxes);
  CommitHeader* header() const { return static_cast<CommitHeader*>(base_); }
  CommitMailbox& mailbox(uint32_t index) const {
    return reinterpret_cast<CommitMailbox*>(header() + 1)[index];
  }

  const UniqueFd fd_;
  void* const base_;
  const uint32_t num_mailboxes_;
  std::vector<uint64_t> taken_;  // by mailbox, as the next two
  std::vector<bool> corrupted_;
  std::vector<bool> unreleased_;      // something was taken since Release
  std::vector<uint32_t> to_release_;  // those mailboxes
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_READER_H_
