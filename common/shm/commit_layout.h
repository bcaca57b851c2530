// Commit mailboxes: one file per job and node with a mailbox for each local
// rank, in which the rank leaves what it commits. This is the file's layout;
// commit_writer.h is a rank's side, commit_reader.h the agent's.
// docs/shm_layout.md describes the protocol.
#ifndef CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_
#define CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace canopy::shm {

inline constexpr uint32_t kCommitMagic = 0x42504143;  // "CAPB"
inline constexpr uint32_t kCommitVersion = 1;
inline constexpr uint32_t kMaxCommitMailboxes = 1 << 16;
// Bytes of one mailbox. Larger commits are messages.
inline constexpr uint32_t kCommitMailboxBytes = 64 << 10;

struct alignas(64) CommitHeader {
  uint32_t magic = 0;
  uint32_t version = 0;
  uint32_t num_mailboxes = 0;
  uint32_t mailbox_bytes = 0;
};

// A position in a mailbox: the low half is a number of bytes, the high half a
// generation, which is incremented when writing starts over in the empty
// mailbox.
constexpr uint64_t CommitPosition(uint32_t generation, uint32_t bytes) {
  return uint64_t{generation} << 32 | bytes;
}
constexpr uint32_t GenerationOf(uint64_t position) {
  return static_cast<uint32_t>(position >> 32);
}
constexpr uint32_t BytesOf(uint64_t position) {
  return static_cast<uint32_t>(position);
}

// The shared state of one mailbox.
struct alignas(64) CommitMailbox {
  // By the rank: end of what was written.
  std::atomic<uint64_t> written{0};
  // By the agent: end of what may be overwritten.
  alignas(64) std::atomic<uint64_t> taken{0};
  // By the agent: so many commits it has read that came by message.
  std::atomic<uint32_t> messages{0};
  // By the agent, the doorbell request: not 0 when the next commit is to be
  // signalled.
  std::atomic<uint32_t> wanted{0};
};
static_assert(sizeof(CommitMailbox) == 128);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// In front of each commit in a mailbox; the payload of a commit frame follows.
using CommitLength = uint32_t;

// Control words first, so that who looks at all mailboxes touches few pages;
// then the mailboxes, each on pages of its own.
constexpr size_t CommitControlBytes(uint32_t num_mailboxes) {
  constexpr size_t kPage = 64 << 10;  // the largest there is
  const size_t bytes =
      sizeof(CommitHeader) + num_mailboxes * sizeof(CommitMailbox);
  return (bytes + kPage - 1) / kPage * kPage;
}
constexpr size_t CommitMailboxOffset(uint32_t num_mailboxes, uint32_t index) {
  return CommitControlBytes(num_mailboxes) +
         size_t{index} * kCommitMailboxBytes;
}
constexpr size_t CommitFileBytes(uint32_t num_mailboxes) {
  return CommitMailboxOffset(num_mailboxes, num_mailboxes);
}

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_
