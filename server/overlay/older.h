// What an agent that speaks an older version of the overlay's protocol neither
// says nor hears: so an agent of this version can be one, and versions next to
// each other are tested in one overlay.
#ifndef CANOPY_SERVER_OVERLAY_OLDER_H_
#define CANOPY_SERVER_OVERLAY_OLDER_H_

#include <cstdint>

#include "server/core/messages.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Newest of the protocol, and the oldest that this agent can make do with.
//   1  the first
//   2  an agent may be restarted: away_ms, recovered; positions in output
//      (OutputData.end) and its credit (Credit.total)
//   3  so may the one that controls a job: Credit.resend
//   4  positions in input (InputData.end) and its credit (Credit.total,
//   .resend)
//   5  who has told a new root of its jobs says so: JobForget.all_told
inline constexpr uint32_t kNewestVersion = 5;
inline constexpr uint32_t kOldestVersion = 1;

// Sets what came after `version` to what its absence means.
void ForgetNewer(uint32_t version, Frame* frame);
void ForgetNewer(uint32_t version, core::MessageBody* body);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_OLDER_H_
