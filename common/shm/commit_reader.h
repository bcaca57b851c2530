// The agent's side of a job's commit boxes (commit_layout.h).
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

// Owns the file. One thread. Trusts nothing that ranks write: what comes out
// of a box is bounded bytes, copied, for somebody to check.
class CommitReader {
 public:
  // Boxes for `num_boxes` (1 to kMaxCommitBoxes) local ranks, empty.
  static Result<std::unique_ptr<CommitReader>> Create(uint32_t num_boxes);
  // Those of a former agent, with what it has not taken. kErrBadParam when it
  // is no such file.
  static Result<std::unique_ptr<CommitReader>> Open(UniqueFd fd,
                                                    uint32_t num_boxes);
  ~CommitReader();
  CommitReader(const CommitReader&) = delete;
  CommitReader& operator=(const CommitReader&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t size() const { return CommitFileBytes(num_boxes_); }
  uint32_t num_boxes() const { return num_boxes_; }

  enum class Found {
    kNothing,
    kCommits,  // whole records, as far as their rank says
    kSpoiled,  // the rank writes nonsense: its box is not read any more
  };
  // Copies what a rank has left since the last call into `bytes`.
  Found Take(uint32_t index, std::string* bytes);
  // What was taken so far is safe elsewhere: ranks may use its place again.
  // Until then another agent would find it again.
  void Release();
  // Nothing is read from that box any more.
  void Spoil(uint32_t index) { spoiled_[index] = true; }

  // The rank tells of its next commit, which Take ends; call Take after it.
  void Ask(uint32_t index);
  // How many commits were read from the rank that came by message.
  void SetMessages(uint32_t index, uint32_t messages);

 private:
  CommitReader(UniqueFd fd, void* base, uint32_t num_boxes);
  static Result<std::unique_ptr<CommitReader>> Map(UniqueFd fd,
                                                   uint32_t num_boxes);
  CommitHeader* header() const { return static_cast<CommitHeader*>(base_); }
  CommitBox& box(uint32_t index) const {
    return reinterpret_cast<CommitBox*>(header() + 1)[index];
  }

  const UniqueFd fd_;
  void* const base_;
  const uint32_t num_boxes_;
  std::vector<uint64_t> taken_;       // by box
  std::vector<bool> spoiled_;         // the same
  std::vector<uint32_t> unreleased_;  // boxes
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_READER_H_
