// The requests of PMIx_IOF_pull and PMIx_IOF_push: calls of HostOp::kReadOutput
// and HostOp::kPushInput, and the replies to the former
// (docs/design/output_forwarding.md).
#ifndef CANOPY_COMMON_IOF_CALL_H_
#define CANOPY_COMMON_IOF_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/describe.h"
#include "common/ids.h"

namespace canopy {

// Channels, with the values of pmix_iof_channel_t.
inline constexpr uint16_t kInputChannel = 1;
inline constexpr uint16_t kOutputChannel = 2;
inline constexpr uint16_t kErrorChannel = 4;
inline constexpr uint16_t kDiagnosticChannel = 8;

// Which output is dropped when a puller's cache is full.
enum class Overflow : uint8_t {
  kDropNewest = 0,  // PMIX_IOF_DROP_NEWEST, the default of the Standard
  kDropOldest = 1,  // PMIX_IOF_DROP_OLDEST
};

// One read by a puller: it requests the output that follows the output received
// so far. Each read repeats the puller's properties, so that an agent that does
// not know the puller can continue.
struct OutputRead {
  uint64_t handle = 0;  // of the puller; unique in the puller's process
  uint16_t channels = 0;
  uint64_t cache_size = 0;  // bytes; 0: the default
  Overflow overflow = Overflow::kDropNewest;
  bool from_now = false;     // excludes output cached earlier
  bool only_cached = false;  // ends after the cached output
  bool redirects = false;    // the output is shown nowhere else
  bool ends = false;         // the puller is closed
  std::string cursor;        // from the last reply; empty in the first read
};

// A cursor has eight bytes for each node of a job.
inline constexpr size_t kMaxCursor = 1 << 20;

template <typename V>
void Describe(V& v, wire::Is<OutputRead> auto& m) {
  v.Field(1, m.handle);
  v.Field(2, m.channels);
  v.Field(3, m.cache_size);
  v.Choice(4, m.overflow, Overflow::kDropOldest);
  v.Field(5, m.from_now);
  v.Field(6, m.only_cached);
  v.Field(7, m.redirects);
  v.Field(8, m.ends);
  v.Bounded(9, m.cursor, kMaxCursor);
}

struct OutputPiece {
  Rank rank = 0;
  uint16_t channel = 0;  // one bit of pmix_iof_channel_t
  Bytes data;            // empty if the channel is closed
};

template <typename V>
void Describe(V& v, wire::Is<OutputPiece> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.channel);
  v.Field(3, m.data);
}

// The reply to an OutputRead. The first reply is empty and confirms the puller.
struct OutputRun {
  std::vector<OutputPiece> pieces;
  uint64_t dropped = 0;   // bytes, since the puller began
  bool complete = false;  // no output follows
  std::string cursor;
};

template <typename V>
void Describe(V& v, wire::Is<OutputRun> auto& m) {
  v.Field(1, m.pieces);
  v.Field(2, m.dropped);
  v.Field(3, m.complete);
  v.Bounded(4, m.cursor, kMaxCursor);
}

// PMIX_ERR_IOF_COMPLETE: the input of the job has ended. In an event: a process
// has regularly ended the forwarding of its own input.
inline constexpr int kErrIofComplete = -173;
// PMIX_ERR_IOF_FAILURE: output can no longer be read, or input no longer be
// delivered.
inline constexpr int kErrIofFailure = -172;

// One push: bytes, the end of the input after them, or both.
struct InputPush {
  Bytes data;
  bool complete = false;

  bool empty() const { return !complete && data.empty(); }
};

template <typename V>
void Describe(V& v, wire::Is<InputPush> auto& m) {
  v.Field(1, m.data);
  v.Field(2, m.complete);
}

}  // namespace canopy

#endif  // CANOPY_COMMON_IOF_CALL_H_
