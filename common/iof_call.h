// What PMIx_IOF_pull and PMIx_IOF_push ask, in bytes: calls of
// HostOp::kReadOutput and HostOp::kPushInput, and the answers to the former
// (docs/design/output_forwarding.md).
#ifndef CANOPY_COMMON_IOF_CALL_H_
#define CANOPY_COMMON_IOF_CALL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy {

// Channels as in pmix_iof_channel_t.
inline constexpr uint16_t kInputChannel = 1;
inline constexpr uint16_t kOutputChannel = 2;
inline constexpr uint16_t kErrorChannel = 4;
inline constexpr uint16_t kDiagnosticChannel = 8;

// What becomes of output that a puller's cache has no room for.
enum class Overflow : uint8_t {
  kDropNewest = 0,  // PMIX_IOF_DROP_NEWEST, the default of the Standard
  kDropOldest = 1,  // PMIX_IOF_DROP_OLDEST
};

// One read of a puller: the output that follows what it has had. Each names the
// puller's properties again, so that an agent that has not heard of it can go
// on.
struct OutputRead {
  uint64_t handle = 0;  // of the puller, among those of its process
  uint16_t channels = 0;
  uint64_t cache_size = 0;  // bytes; 0: the default
  Overflow overflow = Overflow::kDropNewest;
  bool from_now = false;     // without what is cached from before
  bool only_cached = false;  // nothing else: it is complete with that
  bool redirects = false;    // the output goes to nobody else who shows it
  bool ends = false;         // there is no such puller any more
  std::string cursor;        // of the answer before; empty: the first read
};

std::string EncodeOutputRead(const OutputRead& read);
// False when it is malformed.
bool DecodeOutputRead(std::string_view bytes, OutputRead* read);

struct OutputPiece {
  Rank rank = 0;
  uint16_t channel = 0;  // one bit
  Bytes data;            // empty: the channel is closed
};

// The answer to an OutputRead. The first is empty, and tells that there is a
// puller.
struct OutputRun {
  std::vector<OutputPiece> pieces;
  uint64_t dropped = 0;   // bytes, since there is the puller
  bool complete = false;  // nothing follows
  std::string cursor;
};

std::string EncodeOutputRun(const OutputRun& run);
// The pieces share `bytes`. False when it is malformed.
bool DecodeOutputRun(const Bytes& bytes, OutputRun* run);

// PMIX_ERR_IOF_COMPLETE: the input that is pushed to has ended.
inline constexpr int kErrIofComplete = -173;
// PMIX_ERR_IOF_FAILURE: output can not be read, or input be given, any more.
inline constexpr int kErrIofFailure = -172;

// One push: bytes, the end of the input behind them, or both.
struct InputPush {
  Bytes data;
  bool complete = false;
};

std::string EncodeInputPush(const InputPush& push);
// The data shares `bytes`. False when it is malformed, or asks for nothing.
bool DecodeInputPush(const Bytes& bytes, InputPush* push);

}  // namespace canopy

#endif  // CANOPY_COMMON_IOF_CALL_H_
