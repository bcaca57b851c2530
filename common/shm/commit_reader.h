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

// Owns the file. Used by one thread. Does not trust what ranks write: the
// content of a mailbox is copied with a bound, and the caller must validate it.
class CommitReader {
 public:
  // Makes empty mailboxes for `num_mailboxes` (1 to kMaxCommitMailboxes) local
  // ranks. Returns kErrBadParam for another number, and kErrOutOfResource if
  // the file cannot be made or mapped.
  static Result<std::unique_ptr<CommitReader>> Create(uint32_t num_mailboxes);
  // Opens a predecessor's file, with the commits that the predecessor has not
  // released. kErrBadParam: it is not such a file; kErrOutOfResource: it cannot
  // be mapped.
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
    kCommits,    // whole records, if the rank is honest
    kCorrupted,  // the mailbox is corrupted and will not be read any more
  };
  // Copies the data that a rank has written since the last call into `bytes`.
  // Between two calls of Release, all calls for a rank copy at most the size of
  // one mailbox.
  Found Take(uint32_t index, std::string* bytes);
  // Called when all data taken so far has been persisted: the ranks may reuse
  // its space. Until then a successor would find it again.
  void Release();
  // Ends the reading of the mailbox, because its content is malformed.
  void MarkCorrupted(uint32_t index) { corrupted_[index] = true; }

  // Requests a signal for the rank's next commit; valid until the next Take.
  // The caller then calls Take once more, in case a commit came before the
  // request.
  void Ask(uint32_t index);
  // Publishes, for the rank, the number of the rank's messages with commits
  // that the agent has read.
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
  std::vector<uint64_t> taken_;  // indexed by mailbox, like the next two
  std::vector<bool> corrupted_;
  std::vector<bool> unreleased_;      // data was taken since the last Release
  std::vector<uint32_t> to_release_;  // the mailboxes with such data
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_READER_H_
