// Where the local ranks of a job leave what they commit: one file per job and
// node with a box for each of them. This is the file's layout;
// commit_writer.h is a rank's side, commit_reader.h the agent's.
// docs/shm_layout.md tells the protocol.
#ifndef CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_
#define CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace canopy::shm {

inline constexpr uint32_t kCommitMagic = 0x42504143;  // "CAPB"
inline constexpr uint32_t kCommitVersion = 1;
inline constexpr uint32_t kMaxCommitBoxes = 1 << 16;
// Bytes of one box. Larger commits are messages.
inline constexpr uint32_t kCommitBoxBytes = 64 << 10;

struct alignas(64) CommitHeader {
  uint32_t magic = 0;
  uint32_t version = 0;
  uint32_t num_boxes = 0;
  uint32_t box_bytes = 0;
};

// How far a box is filled or emptied: in the low half a number of bytes, in the
// high half how often it was begun anew, which happens when it is empty.
constexpr uint64_t CommitPosition(uint32_t turn, uint32_t bytes) {
  return uint64_t{turn} << 32 | bytes;
}
constexpr uint32_t TurnOf(uint64_t position) {
  return static_cast<uint32_t>(position >> 32);
}
constexpr uint32_t BytesOf(uint64_t position) {
  return static_cast<uint32_t>(position);
}

// What both sides tell each other about one box.
struct alignas(64) CommitBox {
  // By the rank: up to here there is something.
  std::atomic<uint64_t> written{0};
  // By the agent: up to here it needs it no more.
  alignas(64) std::atomic<uint64_t> taken{0};
  // By the agent: so many commits it has read that came by message.
  std::atomic<uint32_t> messages{0};
  // By the agent: not 0 when it wants to be told of the next commit.
  std::atomic<uint32_t> wanted{0};
};
static_assert(sizeof(CommitBox) == 128);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// In front of each commit in a box; the payload of a commit frame follows.
using CommitLength = uint32_t;

// Control words first, so that who looks at all boxes touches few pages; then
// the boxes, each on pages of its own.
constexpr size_t CommitControlBytes(uint32_t num_boxes) {
  constexpr size_t kPage = 64 << 10;  // the largest there is
  const size_t bytes = sizeof(CommitHeader) + num_boxes * sizeof(CommitBox);
  return (bytes + kPage - 1) / kPage * kPage;
}
constexpr size_t CommitBoxOffset(uint32_t num_boxes, uint32_t index) {
  return CommitControlBytes(num_boxes) + size_t{index} * kCommitBoxBytes;
}
constexpr size_t CommitFileBytes(uint32_t num_boxes) {
  return CommitBoxOffset(num_boxes, num_boxes);
}

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_COMMIT_LAYOUT_H_
