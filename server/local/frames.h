// The frames of common/local_protocol.h at the agent: requests become inputs of
// the core, and answers become frames. Pure: it uses no sockets and has no
// state.
#ifndef CANOPY_SERVER_LOCAL_FRAMES_H_
#define CANOPY_SERVER_LOCAL_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/local/greeting.h"
#include "common/local_protocol.h"
#include "common/status.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/input.h"

namespace canopy::local {

// In payloads up to this size, in bytes, the number of names is not limited.
inline constexpr size_t kFewNamesPayload = size_t{128} << 10;
// The limit for the number of all names in a reattachment.
inline constexpr size_t kMaxReattachedNames = kMaxProcs;

// Returns the core's input for one frame of a client after its Hello. `self` is
// the client's identity. Returns kErrOutOfResource, before names are copied,
// for a frame that names more than `max_names` processes, kErrNotSupported for
// an unknown type, and kErrUnpackFailure for a malformed frame. Copies bytes
// out of `payload`.
Result<core::Input> ParseRequest(core::ClientId client, const ProcId& self,
                                 const FrameHeader& header,
                                 std::string_view payload,
                                 size_t max_names = kMaxProcs);

// Returns the data of a commit frame's payload, or kErrUnpackFailure if it is
// malformed.
Result<std::vector<core::ScopedData>> ParseCommitted(std::string_view payload);

// Returns the start of a frame whose payload has `length` bytes, with memory
// reserved for `reserved` bytes of the payload.
std::string FrameHead(FrameType type, uint64_t tag, size_t length,
                      size_t reserved);

// Returns a whole frame with its header.
template <typename M>
std::string MakeFrame(FrameType type, uint64_t tag, const M& message) {
  const size_t length = wire::SizeOf(message);
  std::string frame = FrameHead(type, tag, length, length);
  wire::Append(message, &frame);
  return frame;
}

// All functions below except MakeReplyHead return a whole frame.
std::string MakeReply(uint64_t tag, int status, std::string_view payload);
// Returns the frame of MakeReply without the last `payload_size` bytes, which
// the caller sends directly after it.
std::string MakeReplyHead(uint64_t tag, int status, size_t payload_size);
std::string MakeWelcome(uint64_t tag, const Welcome& welcome);
std::string MakeEvent(const core::ClientEvent& event);

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_FRAMES_H_
