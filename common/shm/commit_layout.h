// Commit mailboxes: one file per job and node with a mailbox for each local
// rank, into which the rank writes its commits. This header defines the file's
// layout; commit_writer.h is the rank's side, commit_reader.h the agent's.
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
// Bytes of one mailbox. Larger commits are sent as messages.
inline constexpr uint32_t kCommitMailboxBytes = 64 << 10;

struct alignas(64) CommitHeader {
  uint32_t magic = 0;
  uint32_t version = 0;
  uint32_t num_mailboxes = 0;
  uint32_t mailbox_bytes = 0;
};

// A position in a mailbox: the low half is a byte offset, the high half a
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
  // Written by the rank: end of the written data.
  std::atomic<uint64_t> written{0};
  // Written by the agent: end of the data that the rank may overwrite.
  alignas(64) std::atomic<uint64_t> taken{0};
  // Written by the agent: number of commits that it has received as messages.
  std::atomic<uint32_t> messages{0};
  // The doorbell request, written by the agent: not 0 if the next commit must
  // be signalled.
  std::atomic<uint32_t> wanted{0};
};
static_assert(sizeof(CommitMailbox) == 128);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Precedes each commit in a mailbox; the payload of a commit frame follows.
using CommitLength = uint32_t;

// Returns the bytes of the header and of the control words of all mailboxes.
// They come first in the file, so that a scan of all mailboxes touches few
// pages; the mailboxes follow, each on pages of its own.
constexpr size_t CommitControlBytes(uint32_t num_mailboxes) {
  constexpr size_t kPage = 64 << 10;  // the largest page size of any platform
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
