// Compatibility with older versions of the overlay's protocol: an agent of this
// version can behave as one of an older version, by which adjacent versions are
// tested in one overlay.
#ifndef CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
#define CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_

#include <cstdint>

#include "server/core/messages.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Newest and oldest protocol version that this agent speaks.
//   1  the first
//   2  an agent may be restarted: planned_downtime_ms, recovered; positions in
//      output (OutputData.end) and its credit (Credit.total)
//   3  so may the one that controls a job: Credit.resend
//   4  positions in input (InputData.end) and its credit (Credit.total,
//      .resend)
//   5  end of the resynchronisation with a new root: JobForget.sync_complete
inline constexpr uint32_t kNewestVersion = 5;
inline constexpr uint32_t kOldestVersion = 1;

// Sets fields introduced after `version` to the value that their absence means.
void RemoveNewerFields(uint32_t version, Frame* frame);
void RemoveNewerFields(uint32_t version, core::MessageBody* body);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
