// The largest payload of each type of frame. A frame cannot be longer than the
// lists and texts that it may contain, so an agent refuses a longer one as soon
// as it has read the header.
#ifndef CANOPY_COMMON_LOCAL_LIMITS_H_
#define CANOPY_COMMON_LOCAL_LIMITS_H_

#include <cstdint>

#include "common/local_protocol.h"

namespace canopy::local {

// Returns the limit for frames of clients, in bytes. No limit is below the
// largest frame that the agent can accept: 32 MiB have room for a million
// processes with names of usual length, or for 16 MiB that the members of a
// group share.
constexpr uint32_t MaxPayloadOf(uint16_t type) {
  constexpr uint32_t kKib = 1u << 10;
  constexpr uint32_t kMib = 1u << 20;
  switch (static_cast<FrameType>(type)) {
    case FrameType::kFinalize:
    case FrameType::kBarrierFull:
    case FrameType::kCommitted:
      return 64;  // empty in this version
    case FrameType::kGet:
    case FrameType::kIgnored:
      return 4 * kKib;
    case FrameType::kEventsWanted:
    case FrameType::kEventsUnwanted:
      return kMib;
    case FrameType::kNotify:
      return 4 * kMib;
    case FrameType::kPublish:
    case FrameType::kLookup:
    case FrameType::kUnpublish:
      return 66 * kMib;  // a job publishes at most 64 MiB
    // kCommit has all data that a process commits in one call, and kReattach
    // the counts of all collectives that have ended for it.
    case FrameType::kCommit:
    case FrameType::kReattach:
      return kMaxPayload;
    default:
      return 32 * kMib;
  }
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_LIMITS_H_
